"""A draft is put in shadow, or taken out of it."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.policies.drafts import locked_draft
from reviewhub.policies.kinds import ShadowStarted, ShadowStopped
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.states import DRAFT_EDGES, DraftState


def set_shadow(*, workspace_id: uuid.UUID, draft_id: uuid.UUID, on: bool, actor: Actor) -> PolicyDraft:
    """In shadow a draft is asked beside the policy in force at every pause, and changes nothing.

    Raises:
        DraftChanged: it is no longer the draft that is worked on.
        IllegalTransition: it is there already.
        NotAnyMore: the author may not edit policy any more.
    """
    with transaction.atomic():
        draft = locked_draft(workspace_id, draft_id)
        still_may(actor, Action.POLICY_EDIT, Target(workspace_id=workspace_id))
        if on:
            move(draft, to=DraftState.SHADOW, table=DRAFT_EDGES, shadow_since=now())
        else:
            move(draft, to=DraftState.DRAFT, table=DRAFT_EDGES)
        number = draft.base + 1
        record(
            "policy.shadow_started" if on else "policy.shadow_stopped",
            workspace_id=workspace_id,
            actor=actor,
            subject_id=draft.pk,
            data=ShadowStarted(number=number) if on else ShadowStopped(number=number),
        )
    return draft
