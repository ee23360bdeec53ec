"""The open draft of a workspace, read and locked."""

from __future__ import annotations

import uuid

from reviewhub.core.errors import Conflict
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.states import OPEN_DRAFT


class DraftChanged(Conflict):
    """Somebody else changed, published or discarded the draft meanwhile."""

    code = "changed"


class DraftBehind(Conflict):
    """Another version came in force after the one that the draft was made from."""

    code = "changed"


def open_draft(workspace_id: uuid.UUID) -> PolicyDraft | None:
    """The draft that is worked on; there is one at most."""
    return PolicyDraft.objects.filter(workspace_id=workspace_id, state__in=OPEN_DRAFT).first()


def locked_draft(workspace_id: uuid.UUID, draft_id: uuid.UUID) -> PolicyDraft:
    """The open draft, until the caller's transaction ends. Raises DraftChanged when it is another one, or none."""
    rows = PolicyDraft.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id, pk=draft_id)
    found = rows.filter(state__in=OPEN_DRAFT).first()
    if found is None:
        raise DraftChanged
    return found
