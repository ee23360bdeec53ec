"""Celery entries of gates."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from reviewhub.gates import overtime
from reviewhub.gates.unknown import due, unknown


@shared_task(name="reviewhub.gates.tasks.sweep_unknown")
def sweep_unknown(**kwargs: Any) -> int:
    """Puts every lost call before people; how many there were."""
    return sum(unknown(call_id=call_id) for call_id in due())


@shared_task(name="reviewhub.gates.tasks.sweep_overtime")
def sweep_overtime(**kwargs: Any) -> int:
    """Halts runs that have worked as long as they may; how many branches that were."""
    return overtime.sweep_overtime()
