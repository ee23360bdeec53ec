"""A draft is put in force."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.policies.drafts import locked_draft
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from reviewhub.policies.states import DRAFT_EDGES, DraftState


def publish_draft(
    *, workspace_id: uuid.UUID, draft_id: uuid.UUID, note: str, base: int, actor: Actor
) -> PolicyVersion:
    """Publishes the open draft as the next version, and ends the draft.

    Args:
        base: the version in force that the publisher compared it with, which may be newer than the draft.

    Raises:
        DraftChanged: it is no longer the draft that is worked on.
        Invalid, NotAnyMore, Changed: as for `publish`.
    """
    with transaction.atomic():
        draft = locked_draft(workspace_id, draft_id)
        version = publish(
            workspace=draft.workspace, rules_text=draft.rules, note=note, base=base, actor=actor
        )
        move(draft, to=DraftState.PUBLISHED, table=DRAFT_EDGES, published_as=version.number)
    return version
