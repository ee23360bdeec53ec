"""What the writer of a state is warned of in the answer to its save."""

from __future__ import annotations

import uuid

from reviewhub.budgets.queries import budget_for
from reviewhub.budgets.rules import FieldWarning, grown, sizes_of, warnings
from reviewhub.checkpoints.draft import Draft


def warned(*, agent_id: uuid.UUID, draft: Draft | None) -> list[FieldWarning]:
    """The fields of a state that is saved which are above the agent's budget, or grew too much since its parent.

    Costs no query, and for a state that is smaller than every limit nothing at all. Saving does not wait for it, and is
    not refused for it.
    """
    if draft is None or draft.existing is not None:
        return []
    schema = draft.typed.schema
    budget = budget_for(agent_id, schema.name if schema else "")
    total = draft.state.size
    if not budget.concerns(total):
        return []
    sizes = sizes_of(draft.state)
    return warnings(sizes, total=total, budget=budget, grown=grown(sizes, draft.before))
