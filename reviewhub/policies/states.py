"""States of drafts of a policy, and where each may go."""

from __future__ import annotations

from django.db.models import TextChoices

from reviewhub.core.transitions import Edges


class DraftState(TextChoices):
    DRAFT = "draft"
    SHADOW = "shadow"
    PUBLISHED = "published"
    DISCARDED = "discarded"


OPEN_DRAFT = (DraftState.DRAFT, DraftState.SHADOW)
DRAFT_EDGES: Edges = {
    "draft": frozenset({"shadow", "published", "discarded"}),
    "shadow": frozenset({"draft", "published", "discarded"}),
    "published": frozenset(),
    "discarded": frozenset(),
}
TABLES = ((DraftState, DRAFT_EDGES),)
