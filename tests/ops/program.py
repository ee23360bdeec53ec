"""A program for the supervisor's tests: says that it runs, and ends as told.

python -m tests.ops.program FOLDER NAME [stubborn | fails | ends]
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    folder, name, *manner = sys.argv[1:]
    with Path(folder, name).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if "fails" in manner:
        sys.exit(3)
    if "ends" in manner:
        return
    if "stubborn" in manner:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def stop(*_: object) -> None:
        with Path(folder, "stopped").open("a") as file:
            file.write(f"{name}\n")
        sys.exit(0)

    if "stubborn" not in manner:
        signal.signal(signal.SIGTERM, stop)
    while True:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
