"""The open draft of a workspace, read and locked."""

from __future__ import annotations

import uuid

from reviewhub_agents.wire.fields import time_text

from reviewhub.core.display import moments
from reviewhub.core.errors import Conflict
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.states import OPEN_DRAFT


class DraftChanged(Conflict):
    """Somebody else changed, published or discarded the draft meanwhile."""

    code = "changed"


class DraftBehind(Conflict):
    """Another version came in force after the one that the draft was made from."""

    code = "changed"


def another(found: PolicyDraft | None) -> DraftChanged:
    """What is said to whoever would replace a draft that they did not start from: whose it is, and of when."""
    if found is None:
        return DraftChanged()
    return DraftChanged(
        f"{found.author_name} saved a draft on {moments.said(found.created_at)}. "
        "Saving would replace it: look at it first, and say so.",
        draft=str(found.pk),
        by=found.author_name,
        at=time_text(found.created_at),
    )


def open_draft(workspace_id: uuid.UUID) -> PolicyDraft | None:
    """The draft that is worked on; there is one at most."""
    return PolicyDraft.objects.filter(workspace_id=workspace_id, state__in=OPEN_DRAFT).first()


def locked_draft(workspace_id: uuid.UUID, draft_id: uuid.UUID) -> PolicyDraft:
    """The open draft, until the caller's transaction ends. Raises DraftChanged when it is another one, or none."""
    rows = PolicyDraft.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id, pk=draft_id)
    found = rows.filter(state__in=OPEN_DRAFT).first()
    if found is None:
        raise another(open_draft(workspace_id))
    return found
