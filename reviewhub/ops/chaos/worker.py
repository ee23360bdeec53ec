"""A worker process to be killed: it looks for wakings instead of hearing of them, else it is the product's own code."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

from django.db import close_old_connections, connections

from reviewhub.core import faults
from reviewhub.gates.tasks import sweep_unknown
from reviewhub.hosting.resume import resume
from reviewhub.resumptions.queries import claimable

_PAUSE = 0.02
_fork = multiprocessing.get_context("fork")


class Worker:
    """One worker. `fault` names the point at which it kills itself, and at the how manieth time; empty for none."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.is_struck = False
        # A connection must not be shared with a child.
        connections.close_all()
        self._process = _fork.Process(target=_work, args=(fault, os.getpid()), daemon=True)
        self._process.start()

    @property
    def is_dead(self) -> bool:
        """Whether it was killed.

        Raises:
            RuntimeError: it ended in another way, which is an error of the product.
        """
        code = self._process.exitcode
        if code not in {None, -signal.SIGKILL}:
            raise RuntimeError(f"a worker failed with {code}")
        return code is not None

    @property
    def died_of(self) -> str:
        """The fault that killed it."""
        return "in between" if self.is_struck else self.fault.partition(":")[0]

    def strike(self) -> None:
        """SIGKILL, wherever it is."""
        if not self.is_dead:
            self.is_struck = True
            self._process.kill()
            self._process.join()


def _work(fault: str, parent: int) -> None:
    os.environ["REVIEWHUB_FAULT"] = fault
    faults.arm_from_environment()
    while os.getppid() == parent:
        for pk in list(claimable().values_list("pk", flat=True)[:5]):
            resume(resumption_id=pk, owner=f"worker {os.getpid()}")
        sweep_unknown()
        close_old_connections()
        time.sleep(_PAUSE)
