"""States of review requests and post-reviews, and where each may go."""

from __future__ import annotations

from django.db.models import TextChoices

from reviewhub.core.transitions import Edges


class RequestState(TextChoices):
    PENDING = "pending"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    RESPONDED = "responded"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    CANCELLED = "cancelled"
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    SKIPPED = "skipped"


class PostReviewState(TextChoices):
    DRAWN = "drawn"
    FINE = "fine"
    FLAGGED = "flagged"
    SKIPPED = "skipped"


class FollowUpKind(TextChoices):
    """What a flag may lead to."""

    NOTIFY = "notify"
    DRAFT_RULE = "draft_rule"
    FORK = "fork"
    ESCALATE = "escalate"


class FollowUpState(TextChoices):
    OPEN = "open"
    DONE = "done"


SEVERITIES = ("low", "medium", "high")
FINAL = frozenset(RequestState.values) - {"pending"}
REQUEST_EDGES: Edges = {"pending": FINAL, **{state: frozenset() for state in sorted(FINAL)}}
POST_REVIEW_EDGES: Edges = {
    "drawn": frozenset({"fine", "flagged", "skipped"}),
    "fine": frozenset({"drawn"}),
    "flagged": frozenset({"drawn"}),
    "skipped": frozenset({"drawn"}),
}
FOLLOW_UP_EDGES: Edges = {"open": frozenset({"done"}), "done": frozenset()}
TABLES = (
    (RequestState, REQUEST_EDGES),
    (PostReviewState, POST_REVIEW_EDGES),
    (FollowUpState, FOLLOW_UP_EDGES),
)

UNASKED = 4
"""The rank in post-review of what ran without the approval that it needed; others have that of their risk."""
