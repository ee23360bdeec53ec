"""Runs one module as a program that does not outlive the process that started it.

    python -m reviewhub.ops.child PARENT_PID MODULE [ARGUMENT…]

On Linux the kernel sends SIGTERM the moment the parent dies. Everywhere a thread looks once a second who the parent is:
it sends SIGTERM too, and ends the process for good when that was not enough.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
LAST_SECONDS = 20.0
"""How long an orphan may take to end in an orderly way."""


def die_with(parent: int) -> None:
    """Ties this process to `parent`, a process id; ends it at once when that one is already gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone")
    threading.Thread(target=_watch, args=(parent,), name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LAST_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def main(arguments: list[str]) -> None:
    """Ties itself to the parent and becomes the module."""
    parent, module, *rest = arguments
    die_with(int(parent))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
