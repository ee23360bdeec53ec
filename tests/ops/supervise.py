"""Runs a supervisor over `tests.ops.program`: python -m tests.ops.supervise FOLDER [--renew] NAME[:manner] …"""

from __future__ import annotations

import sys
from pathlib import Path

from reviewhub.ops import supervisor
from reviewhub.ops.changed import CodeChanged


def main() -> None:
    folder, *names = sys.argv[1:]
    supervisor.FIRST_BACKOFF, supervisor.STOP_SECONDS = 0.1, 1.0
    programs = []
    for entry in names:
        if entry == "--renew":
            continue
        name, _, manner = entry.partition(":")
        arguments = [folder, name, *filter(None, [manner])]
        programs.append(
            supervisor.Program(
                name=name, module="tests.ops.program", arguments=arguments, restarted=manner != "ends"
            )
        )
    changed = CodeChanged([Path(folder)]) if "--renew" in names else None
    supervisor.Supervisor(programs, renew_when=changed).run()


if __name__ == "__main__":
    main()
