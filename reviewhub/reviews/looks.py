"""Reads of what ran without waiting and was drawn for a later look. A list reads one table by one index."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from reviewhub.accounts.models import Agent, Member, Role
from reviewhub.accounts.permissions import Scope
from reviewhub.core import keyset
from reviewhub.core.errors import NotFound
from reviewhub.core.keyset import Page
from reviewhub.reviews.models import FollowUp, PostReview
from reviewhub.reviews.queries import COUNTED
from reviewhub.reviews.states import UNASKED, FollowUpKind, FollowUpState, PostReviewState


@dataclass(frozen=True, kw_only=True)
class LookFilters:
    """What a list is narrowed down to. `handed_to`: open follow-ups that were handed on to this member."""

    state: str = PostReviewState.DRAWN
    agent: str = ""
    tool: str = ""
    handed_to: uuid.UUID | None = None


@dataclass(frozen=True)
class Tally:
    """How many there are of each, as words; none is counted further than COUNTED."""

    drawn: str
    fine: str
    flagged: str
    skipped: str


def looks_visible(scope: Scope) -> QuerySet[PostReview]:
    """Those that somebody with this scope may see: of their teams' agents."""
    rows = PostReview.objects.filter(workspace_id=scope.workspace_id)
    if scope.agent_id is not None:
        rows = rows.filter(agent_id=scope.agent_id)
    if scope.team_ids is not None:
        rows = rows.filter(agent_id__in=Agent.objects.filter(team_id__in=scope.team_ids))
    return rows


def looks(scope: Scope, *, filters: LookFilters, cursor: str = "", limit: int = 50) -> Page[PostReview]:
    """A page of them: those to look at with the worst first, then the oldest; others by their verdict, newest first.

    Each page starts in the middle of an index, so the hundredth costs what the first does.

    Raises:
        Invalid: the cursor is none of this list's.
    """
    rows = in_order(scope, filters, cursor)[: keyset.within(limit) + 1]
    key = _ranked if filters.state == PostReviewState.DRAWN else _reviewed
    return keyset.cut(list(rows), limit=limit, key=key)


def in_order(scope: Scope, filters: LookFilters, cursor: str = "") -> QuerySet[PostReview]:
    """What a list holds from the cursor on, in its order. Raises Invalid as `looks` does."""
    rows = _narrowed(scope, filters)
    if filters.state == PostReviewState.DRAWN:
        rows = rows.order_by("-rank", "id")
        if not cursor:
            return rows
        rank, last = _rank_in(cursor)
        return rows.filter(Q(rank__lte=rank) & (Q(rank__lt=rank) | Q(id__gt=last)))
    rows = rows.order_by("-reviewed_at", "-id")
    if not cursor:
        return rows
    at, last = keyset.place(cursor)
    return rows.filter(Q(reviewed_at__lte=at) & (Q(reviewed_at__lt=at) | Q(id__lt=last)))


def next_look(scope: Scope, *, filters: LookFilters, after: PostReview) -> PostReview | None:
    """The one that comes after `after` in the list of those to look at; the first one when it was the last."""
    rows = _narrowed(scope, filters).exclude(pk=after.pk).order_by("-rank", "id")
    behind = Q(rank__lte=after.rank) & (Q(rank__lt=after.rank) | Q(id__gt=after.pk))
    return rows.filter(behind).first() or rows.first()


def look_at(scope: Scope, call_id: uuid.UUID) -> PostReview:
    """The later look at one call, with what its page needs. Raises NotFound, also for a call that was not drawn."""
    rows = looks_visible(scope).select_related("tool_call__branch", "run", "agent__team", "workspace")
    found = rows.filter(tool_call_id=call_id).first()
    if found is None:
        raise NotFound("This was not drawn for a later look.")
    return found


def own_verdicts(scope: Scope, member_id: uuid.UUID, call_ids: list[uuid.UUID]) -> list[PostReview]:
    """Those of these calls on which the verdict is this member's and still to be taken back, in the list's order."""
    rows = looks_visible(scope).filter(tool_call_id__in=call_ids, member_id=member_id)
    followed = FollowUp.objects.filter(post_review_id=OuterRef("pk"))
    given = rows.exclude(state=PostReviewState.DRAWN).filter(~Exists(followed))
    return list(given.order_by("-rank", "id"))


def follow_ups_of(row: PostReview) -> list[FollowUp]:
    """What followed a flag, the oldest first."""
    return list(row.follow_ups.select_related("to__person", "branch").order_by("created_at", "id"))


@dataclass(frozen=True)
class Followed:
    """The flags that something followed which is still open, and those of which all is closed."""

    open: frozenset[uuid.UUID]
    closed: frozenset[uuid.UUID]


def followed(rows: list[PostReview]) -> Followed:
    """What followed these, of those that are flags."""
    flagged = [row.pk for row in rows if row.state == PostReviewState.FLAGGED]
    found = list(FollowUp.objects.filter(post_review_id__in=flagged).values_list("post_review_id", "state"))
    is_open = frozenset(pk for pk, state in found if state == FollowUpState.OPEN)
    return Followed(open=is_open, closed=frozenset(pk for pk, _ in found) - is_open)


def handed_to(scope: Scope, member_id: uuid.UUID) -> QuerySet[FollowUp]:
    """Open follow-ups that were handed on to this member and that they may still see to, the worst first,
    then the oldest."""
    rows = FollowUp.objects.filter(to_id=member_id, state=FollowUpState.OPEN)
    mine = rows.filter(post_review__in=looks_visible(scope).filter(state=PostReviewState.FLAGGED))
    return mine.select_related("post_review").order_by("-rank", "id")


def left_behind(scope: Scope) -> QuerySet[FollowUp]:
    """Open follow-ups that were handed on to somebody who cannot see to them any more, the worst first, then the
    oldest.

    They are for all who see the flag, since each of these may hand it on again.
    """
    in_its_team = Member.teams.through.objects.filter(
        member_id=OuterRef("to_id"), team_id=OuterRef("post_review__agent__team_id")
    )
    can = Q(to__is_active=True, to__person__is_active=True) & (
        Q(to__role__in=[Role.MANAGER, Role.ADMIN]) | Q(Exists(in_its_team), to__role=Role.REVIEWER)
    )
    handed_on = FollowUp.objects.filter(
        workspace_id=scope.workspace_id, state=FollowUpState.OPEN, kind=FollowUpKind.ESCALATE
    )
    seen = looks_visible(scope).filter(state=PostReviewState.FLAGGED)
    return handed_on.filter(~can, post_review__in=seen).select_related("post_review").order_by("-rank", "id")


@dataclass(frozen=True)
class Waiting:
    """How many wait for a look, and how many of these are alarms, as words; none is counted further than COUNTED."""

    looks: str
    alarms: str


def waiting_looks(scope: Scope) -> Waiting:
    """What waits for a look of somebody with this scope."""
    rows = looks_visible(scope).filter(state=PostReviewState.DRAWN).order_by()
    alarms = rows.filter(rank=UNASKED)[: COUNTED + 1].count()
    return Waiting(looks=look_count(scope), alarms=_counted(alarms))


def look_count(scope: Scope) -> str:
    """How many wait for a look, as words; never counts further than COUNTED."""
    rows = looks_visible(scope).filter(state=PostReviewState.DRAWN).order_by()
    return _counted(rows[: COUNTED + 1].count())


def handed_count(scope: Scope, member_id: uuid.UUID) -> str:
    """How many these are, as words; never counts further than COUNTED."""
    return _counted(handed_to(scope, member_id).order_by()[: COUNTED + 1].count())


def suggested_rules(workspace_id: uuid.UUID) -> list[FollowUp]:
    """Guardrails that flags suggest, and that nobody has taken up or turned down, the oldest first."""
    rows = FollowUp.objects.filter(workspace_id=workspace_id, kind="draft_rule", state=FollowUpState.OPEN)
    return list(rows.select_related("post_review").order_by("id")[:100])


def tally(scope: Scope, filters: LookFilters) -> Tally:
    """How many wait for a look, and what was found of the others; of the agent and tool that are asked for."""

    def count(state: str) -> str:
        rows = _narrowed(scope, LookFilters(state=state, agent=filters.agent, tool=filters.tool)).order_by()
        return _counted(rows[: COUNTED + 1].count())

    return Tally(*(count(state) for state in ("drawn", "fine", "flagged", "skipped")))


def _counted(found: int) -> str:
    return str(found) if found <= COUNTED else f"{COUNTED}+"


def _narrowed(scope: Scope, filters: LookFilters) -> QuerySet[PostReview]:
    rows = looks_visible(scope).filter(state=filters.state)
    if filters.agent:
        # By its id: the lists of an agent have indexes, names have none. An agent keeps its name.
        called = Agent.objects.filter(workspace_id=scope.workspace_id, name=filters.agent)
        rows = rows.filter(agent_id__in=list(called.values_list("pk", flat=True)))
    if filters.tool:
        rows = rows.filter(tool_name=filters.tool)
    if filters.handed_to is not None:
        mine = FollowUp.objects.filter(to_id=filters.handed_to, state=FollowUpState.OPEN)
        rows = rows.filter(pk__in=mine.values("post_review_id"))
    return rows


def _rank_in(cursor: str) -> tuple[int, uuid.UUID]:
    rank, last = keyset.read(cursor, length=2)
    try:
        if type(rank) is not int or not 0 <= rank < 100:
            raise ValueError
        return rank, uuid.UUID(last)
    except (ValueError, TypeError, AttributeError) as error:
        raise keyset.bad_cursor() from error


def _ranked(row: PostReview) -> list[str | int]:
    return [row.rank, str(row.pk)]


def _reviewed(row: PostReview) -> list[str | int]:
    at: datetime | None = row.reviewed_at
    return [at.isoformat() if at else "", str(row.pk)]
