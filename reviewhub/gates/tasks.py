"""Celery entries of gates."""

from __future__ import annotations

import uuid
from typing import Any

from celery import shared_task

from reviewhub.core.sweeps import each
from reviewhub.gates import overtime
from reviewhub.gates import verify as webhooks
from reviewhub.gates.unknown import due, unknown


@shared_task(name="reviewhub.gates.tasks.sweep_unknown")
def sweep_unknown(**kwargs: Any) -> int:
    """Puts every lost call before people; how many there were."""
    return each(lambda call_id: unknown(call_id=call_id), due())


@shared_task(name="reviewhub.gates.tasks.sweep_overtime")
def sweep_overtime(**kwargs: Any) -> int:
    """Halts runs that have worked as long as they may; how many branches that were."""
    return overtime.sweep_overtime()


@shared_task(name="reviewhub.gates.tasks.verify_one")
def verify_one(*, verdict_id: str, **kwargs: Any) -> None:
    """Asks one webhook for its verdict if that is due."""
    webhooks.verify(verdict_id=uuid.UUID(verdict_id))


@shared_task(name="reviewhub.gates.tasks.verify_due")
def verify_due(**kwargs: Any) -> int:
    """Asks what a lost hint or a dead worker left behind; how many there were."""
    return each(lambda verdict_id: webhooks.verify(verdict_id=verdict_id), webhooks.due())
