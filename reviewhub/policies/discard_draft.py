"""An admin gives a draft up."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.policies.drafts import locked_draft
from reviewhub.policies.kinds import DraftDiscarded
from reviewhub.policies.states import DRAFT_EDGES, DraftState


def discard_draft(*, workspace_id: uuid.UUID, draft_id: uuid.UUID, actor: Actor) -> None:
    """Ends a draft; what it said stays on record. Raises DraftChanged, NotAnyMore."""
    with transaction.atomic():
        draft = locked_draft(workspace_id, draft_id)
        still_may(actor, Action.POLICY_EDIT, Target(workspace_id=workspace_id))
        move(draft, to=DraftState.DISCARDED, table=DRAFT_EDGES)
        record(
            "policy.draft_discarded",
            workspace_id=workspace_id,
            actor=actor,
            subject_id=draft.pk,
            data=DraftDiscarded(number=draft.base + 1),
        )
