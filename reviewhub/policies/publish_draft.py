"""A draft is put in force."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.policies.drafts import DraftBehind, locked_draft
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current
from reviewhub.policies.states import DRAFT_EDGES, DraftState


def publish_draft(
    *, workspace_id: uuid.UUID, draft_id: uuid.UUID, note: str, base: int, actor: Actor, on_top: bool = False
) -> PolicyVersion:
    """Publishes the open draft as the next version, and ends the draft.

    Args:
        base: the version in force that the publisher compared it with, which may be newer than the draft.
        on_top: the publisher says that a draft made from an older version replaces the newer one all the same.

    Raises:
        DraftChanged: it is no longer the draft that is worked on.
        DraftBehind: it was made from an older version, and nobody says `on_top`.
        Invalid, NotAnyMore, Changed: as for `publish`.
    """
    with transaction.atomic():
        draft = locked_draft(workspace_id, draft_id)
        latest = current(workspace_id)
        if latest is not None and draft.base < base and not on_top:
            raise DraftBehind(
                f"{latest.author_name} published v{latest.number} after the draft was made from v{draft.base}. "
                f"Compare them; then edit the draft, or say that it replaces v{latest.number}."
            )
        version = publish(
            workspace=draft.workspace, rules_text=draft.rules, note=note, base=base, actor=actor
        )
        move(draft, to=DraftState.PUBLISHED, table=DRAFT_EDGES, published_as=version.number)
    return version
