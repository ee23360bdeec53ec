"""What people decided before about calls like one that waits: of the same tool by the same agent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from reviewhub.accounts.permissions import Scope
from reviewhub.core.display.sentence import unpack
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.queries import visible
from reviewhub.reviews.states import RequestState
from reviewhub.toolcalls.models import Decision

LOOKED_AT = 100
SHOWN = 5
FIELDS = (
    "number",
    "sentence",
    "state",
    "decided_by_name",
    "edited_by_name",
    "decided_at",
    "environment",
    "tool_call__state",
)
BY_PEOPLE = (RequestState.APPROVED, RequestState.EDITED, RequestState.REJECTED, RequestState.RESPONDED)


@dataclass(frozen=True)
class Precedent:
    """One request that people decided. `shared` are the values that both sentences name, `message` is what the agent
    was told."""

    request: ReviewRequest
    is_same: bool
    shared: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Alike:
    """The nearest of the last decisions about a tool, and how all that were looked at ended."""

    nearest: tuple[Precedent, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    looked_at: int = 0


def alike(row: ReviewRequest, scope: Scope) -> Alike:
    """The decisions that are most like `row` of the last LOOKED_AT that somebody with this scope may see.

    The nearest first: exactly the same call, then the most values in common, then the newest. No arguments are read: a
    sentence names the values that matter.
    """
    before = visible(scope).filter(
        agent_id=row.agent_id, tool_name=row.tool_name, state__in=[*map(str, BY_PEOPLE)]
    )
    before = before.exclude(pk=row.pk).order_by("-decided_at")
    found = list(before.values_list("pk", "digest", "sentence", "state")[:LOOKED_AT])
    mine = _values(row.sentence, row.tool_name)
    shared = {pk: mine & _values(sentence, row.tool_name) for pk, _, sentence, _ in found}
    near = sorted(found, key=lambda one: (one[1] != row.digest, -len(shared[one[0]])))[:SHOWN]
    ids = [pk for pk, *_ in near]
    rows = ReviewRequest.objects.select_related("tool_call").only(*FIELDS).in_bulk(ids)
    told = dict(Decision.objects.filter(request_id__in=ids).values_list("request_id", "message"))
    return Alike(
        nearest=tuple(
            Precedent(rows[pk], digest == row.digest, tuple(sorted(shared[pk])), told.get(pk, ""))
            for pk, digest, *_ in near
        ),
        counts=tuple(Counter(state for *_, state in found).most_common()),
        looked_at=len(found),
    )


def _values(sentence: str, tool: str) -> frozenset[str]:
    """The values that a (packed) sentence names, without the tool's own name."""
    return frozenset(part.text for part in unpack(sentence) if part.strong) - {tool}
