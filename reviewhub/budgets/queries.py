"""Which budget is in force. A save asks, so the answer is remembered for a few seconds and costs it no query."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping

from django.conf import settings

from reviewhub.budgets.models import FieldBudget
from reviewhub.budgets.rules import Budget
from reviewhub.checkpoints.models import Checkpoint

SECONDS = 10
"""How long another process may go by an older budget. It is a warning, so that does no harm."""
_MOST = 1000

_lock = threading.Lock()
_known: dict[uuid.UUID, tuple[float, Mapping[str, Budget]]] = {}


def default_budget() -> Budget:
    """The installation's, from the settings: in force where an admin has set no other."""
    return Budget(field_bytes=settings.BUDGET_FIELD_BYTES, step_bytes=settings.BUDGET_STEP_BYTES)


def budget_for(agent_id: uuid.UUID, schema_name: str = "") -> Budget:
    """The budget of an agent's states of this schema: its own, else that of the agent's states, else the default."""
    found = _budgets(agent_id)
    return found.get(schema_name) or found.get("") or default_budget()


def budget_of(checkpoint: Checkpoint) -> Budget:
    """The budget that a checkpoint's state is measured by."""
    schema = checkpoint.state_schema
    return budget_for(checkpoint.run.agent_id, schema.name if schema else "")


def budgets_of(agent_id: uuid.UUID) -> dict[str, Budget]:
    """What admins set for an agent, by the name of the schema; read now."""
    rows = FieldBudget.objects.filter(agent_id=agent_id).order_by("schema_name")
    return {row.schema_name: read_budget(row) for row in rows}


def read_budget(row: FieldBudget) -> Budget:
    """A stored budget as the rules take it."""
    return Budget(field_bytes=row.field_bytes, step_bytes=row.step_bytes, fields=json.loads(row.fields))


def forget(agent_id: uuid.UUID) -> None:
    """Lets this process read an agent's budgets anew."""
    with _lock:
        _known.pop(agent_id, None)


def _budgets(agent_id: uuid.UUID) -> Mapping[str, Budget]:
    with _lock:
        until, found = _known.get(agent_id, (0.0, {}))
    if time.monotonic() < until:
        return found
    found = budgets_of(agent_id)
    with _lock:
        if len(_known) >= _MOST:
            _known.clear()
        _known[agent_id] = (time.monotonic() + SECONDS, found)
    return found
