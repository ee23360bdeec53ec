"""Runs a supervisor over `tests.ops.program`: python -m tests.ops.supervise FOLDER NAME[:manner] …"""

from __future__ import annotations

import sys

from reviewhub.ops import supervisor


def main() -> None:
    folder, *names = sys.argv[1:]
    supervisor.FIRST_BACKOFF, supervisor.STOP_SECONDS = 0.1, 1.0
    programs = []
    for entry in names:
        name, _, manner = entry.partition(":")
        arguments = [folder, name, *filter(None, [manner])]
        programs.append(supervisor.Program(name=name, module="tests.ops.program", arguments=arguments))
    supervisor.Supervisor(programs).run()


if __name__ == "__main__":
    main()
