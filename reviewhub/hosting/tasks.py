"""Celery entries of hosted runs."""

from __future__ import annotations

import os
import socket
import threading
import uuid

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings

from reviewhub.hosting import rescue as rescuing
from reviewhub.hosting import sweep as sweeping
from reviewhub.hosting.drain import this_worker
from reviewhub.hosting.resume import resume as run_on


@shared_task(name="reviewhub.hosting.tasks.resume")
def resume(resumption_id: str) -> bool:
    """Runs one waking, in this worker's name."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
    return run_on(resumption_id=uuid.UUID(resumption_id), owner=owner)


@shared_task(name="reviewhub.hosting.tasks.sweep")
def sweep() -> int:
    """Hands out wakings that no worker has."""
    return sweeping.sweep()


@shared_task(name="reviewhub.hosting.tasks.hand_out")
def hand_out() -> int:
    """Hands out wakings whose time has just come, or whose worker has just been given up."""
    return sweeping.hand_out()


@shared_task(name="reviewhub.hosting.tasks.rescue")
def rescue() -> int:
    """Wakes branches that nothing else would."""
    return rescuing.rescue()


@worker_shutting_down.connect
def drain(**_: object) -> None:
    """SIGTERM: runs stop at their next write, and those that cannot are given back within the grace time."""
    this_worker.begin(seconds=settings.DRAIN_SECONDS)
