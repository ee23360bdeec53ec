"""Reads of review requests for the queue, the pages and the API. Lists load no arguments and no checkpoints."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery

from reviewhub.accounts.models import Member, Workspace
from reviewhub.accounts.permissions import Scope
from reviewhub.accounts.queries import agents_of
from reviewhub.audit.models import Event
from reviewhub.core import keyset, zones
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.core.keyset import Page
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.filters import Filters, named, narrowed, snoozed
from reviewhub.reviews.models import Asker, Question, Review, ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Run

MOST_ASKERS = 1000
LISTED = 99  # the same for each of several lists
COUNTED = 1000  # a count beyond it is shown as "more than"
NO_DEADLINE = "none"
FIRST = datetime.min.replace(tzinfo=UTC)


def visible(scope: Scope) -> QuerySet[ReviewRequest]:
    """The requests that somebody with this scope may see."""
    rows = ReviewRequest.objects.filter(workspace_id=scope.workspace_id)
    if scope.agent_id is not None:
        rows = rows.filter(agent_id=scope.agent_id)
    if scope.team_ids is not None:
        rows = rows.filter(named(team_id__in=scope.team_ids))
    return rows


def pending_count(scope: Scope, *, awake_for: uuid.UUID) -> str:
    """How many requests wait that this member has not put off, as words; never counts further than COUNTED."""
    rows = visible(scope).filter(state=RequestState.PENDING).exclude(snoozed(awake_for)).order_by()
    found = rows[: COUNTED + 1].count()
    return str(found) if found <= COUNTED else f"{COUNTED}+"


def counts(scope: Scope, many: Sequence[Filters]) -> list[str]:
    """How many requests each of these narrows the queue down to, as words; in one query, none further than LISTED."""
    if not many:
        return []
    rows = [narrowed(visible(scope), filters).order_by().values("pk")[: LISTED + 1] for filters in many]
    found = Workspace.objects.filter(pk=scope.workspace_id).values_list(*map(_Counted, rows)).get()
    return [str(one) if one <= LISTED else f"{LISTED}+" for one in found]


class _Counted(Subquery):
    """How many rows a query finds that says itself where it stops."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def listed(scope: Scope, *, filters: Filters, cursor: str = "", limit: int = 50) -> Page[ReviewRequest]:
    """A page of the queue: what is due first comes first, what has no deadline last (of other states, the newest).

    Each page starts in the middle of an index, so the hundredth costs what the first does.

    Raises:
        Invalid: the cursor is none of this list's.
    """
    rows = (
        narrowed(visible(scope), filters, few=True)
        .select_related("agent__team", "claimed_by__person")
        .prefetch_related("teams")
    )
    if filters.state != RequestState.PENDING:
        return keyset.newest_first(rows, cursor=cursor, limit=limit)
    return _by_deadline(rows, cursor=cursor, limit=limit)


def runs_visible(scope: Scope) -> QuerySet[Run]:
    """The runs that somebody with this scope may see: of their teams' agents, and of requests that they see."""
    rows = Run.objects.filter(workspace_id=scope.workspace_id)
    if scope.agent_id is not None:
        rows = rows.filter(agent_id=scope.agent_id)
    if scope.team_ids is not None:
        asked = ReviewRequest.objects.filter(named(team_id__in=scope.team_ids), run_id=OuterRef("pk"))
        rows = rows.filter(Q(agent__team_id__in=scope.team_ids) | Exists(asked))
    return rows


def names_in_queue(scope: Scope) -> list[tuple[str, str]]:
    """Agent and tool of what the teams of this scope were asked about once, each pair once.

    A team may be asked about an agent of another team: it then knows agent and tool by the request. Who sees the whole
    workspace knows them all already.
    """
    if scope.team_ids is None:
        return []
    rows = Asker.objects.filter(team_id__in=scope.team_ids).order_by("agent_name", "tool_name")
    return list(rows.values_list("agent_name", "tool_name").distinct()[:MOST_ASKERS])


@dataclass(frozen=True)
class Waiting:
    """How many requests of an agent wait for people, as limits of waiting requests count them."""

    agent: str
    agent_team: str
    requests: int


def waiting_by_agent(scope: Scope) -> list[Waiting]:
    """Of the agents that may be seen, those that have requests waiting, the most first. One query."""
    rows = ReviewRequest.objects.filter(agent__in=agents_of(scope).order_by(), state=RequestState.PENDING)
    counted = rows.order_by().values_list("agent__name", "agent__team__name").annotate(requests=Count("pk"))
    return [Waiting(*one) for one in counted.order_by("-requests", "agent__name")]


def newest_event(workspace_id: uuid.UUID) -> int:
    """The id of the workspace's newest event: where live updates of a page that is read now go on from."""
    rows = Event.objects.filter(workspace_id=workspace_id).order_by("-id")
    return rows.values_list("id", flat=True).first() or 0


def votes_today(member: Member, at: datetime) -> int:
    """How many votes the member gave on the reader's day that `at` is in."""
    return Review.objects.filter(member=member, created_at__gte=zones.today_began(at)).count()


def has_answered(agent_id: uuid.UUID) -> bool:
    """Whether the agent ever answered what a reviewer asked it."""
    return Question.objects.filter(agent_id=agent_id, answered_at__isnull=False).exists()


def by_number(workspace_id: uuid.UUID, number: int) -> ReviewRequest:
    """The request that people call `#number`. Raises NotFound."""
    rows = ReviewRequest.objects.select_related(
        "agent__team",
        "run__key",
        "branch",
        "tool_call__checkpoint",
        "claimed_by__person",
        "workspace",
        "again_of",
    )
    rows = rows.prefetch_related("teams").defer("tool_call__checkpoint__content")
    row = one_or_none(rows.filter(workspace_id=workspace_id, number=number))
    if row is None:
        raise NotFound
    row.tool_call.agent, row.tool_call.run, row.tool_call.branch = row.agent, row.run, row.branch
    return row


def neighbours(scope: Scope, row: ReviewRequest, *, member_id: uuid.UUID) -> tuple[int | None, int | None]:
    """Numbers of the pending requests before and after `row` in the queue's order by deadline, without those that this
    member has put off."""
    rows = visible(scope).filter(state=RequestState.PENDING).exclude(pk=row.pk).exclude(snoozed(member_id))
    found = rows.values_list("number", flat=True)
    dated, undated = found.filter(deadline_at__isnull=False), found.filter(deadline_at__isnull=True)
    if row.deadline_at is None:
        before = undated.filter(id__lt=row.pk).order_by("-deadline_at", "-id").first()
        before = before or dated.order_by("-deadline_at", "-id").first()
        return before, undated.filter(id__gt=row.pk).order_by("deadline_at", "id").first()
    at = row.deadline_at
    earlier = Q(deadline_at__lt=at) | Q(deadline_at=at, id__lt=row.pk)
    later = Q(deadline_at__gt=at) | Q(deadline_at=at, id__gt=row.pk)
    after = found.filter(later).order_by("deadline_at", "id").first()
    return (
        found.filter(earlier).order_by("-deadline_at", "-id").first(),
        after or undated.order_by("deadline_at", "id").first(),
    )


@dataclass(frozen=True)
class Span:
    """The part of the queue that one page shows: after one cursor, and before another; empty ones do not bound it."""

    after: str = ""
    until: str = ""

    def holds(self, row: ReviewRequest) -> bool:
        """Whether a row would stand on that page."""
        place = (row.deadline_at is None, row.deadline_at or FIRST, row.pk)
        after, until = _place(self.after), _place(self.until)
        return (after is None or place > after) and (until is None or place <= until)


def _place(cursor: str) -> tuple[bool, datetime, uuid.UUID] | None:
    """The row that a cursor of this list names, as the list sorts; None for no cursor, and for one that is not ours."""
    if not cursor:
        return None
    try:
        at, last = keyset.read(cursor, length=2)
        return at == NO_DEADLINE, FIRST if at == NO_DEADLINE else datetime.fromisoformat(at), uuid.UUID(last)
    except (Invalid, ValueError, TypeError, AttributeError):
        return None


def _by_deadline(rows: QuerySet[ReviewRequest], *, cursor: str, limit: int) -> Page[ReviewRequest]:
    """Two reads of one index, so that rows without a deadline come last on every database."""
    wanted = keyset.within(limit) + 1
    at, last = keyset.read(cursor, length=2) if cursor else ("", "")
    found: list[ReviewRequest] = []
    dated = rows.filter(deadline_at__isnull=False).order_by("deadline_at", "id")
    # By the deadline that none of them has, too: so the index of the queue is read in its order, and not every request.
    undated = rows.filter(deadline_at__isnull=True).order_by("deadline_at", "id")
    try:
        if cursor and at == NO_DEADLINE:
            undated = undated.filter(id__gt=uuid.UUID(last))
        elif cursor:
            moment = datetime.fromisoformat(at)
            dated = dated.filter(
                Q(deadline_at__gte=moment) & (Q(deadline_at__gt=moment) | Q(id__gt=uuid.UUID(last)))
            )
    except (ValueError, TypeError, AttributeError) as error:
        raise keyset.bad_cursor() from error
    if at != NO_DEADLINE:
        found += dated[:wanted]
    if len(found) < wanted:
        found += undated[: wanted - len(found)]
    return keyset.cut(found, limit=limit, key=_key)


def _key(row: ReviewRequest) -> list[str]:
    return [row.deadline_at.isoformat() if row.deadline_at else NO_DEADLINE, str(row.pk)]


def newest_about(call_id: uuid.UUID) -> tuple[uuid.UUID | None, int | None]:
    """Id and number of the newest request about a call; None and None where nobody was asked."""
    rows = ReviewRequest.objects.filter(tool_call_id=call_id).order_by("-number")
    return rows.values_list("pk", "number").first() or (None, None)
