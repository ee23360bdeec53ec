"""What the queue is narrowed down to: read from an address, for the page and for its live updates alike."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from reviewhub.core.clock import DbNow
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.tools.models import Risk

MOST_VALUES = 60  # of one filter


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the queue is narrowed down to; empty values do not narrow."""

    text: str = ""  # a number, or part of sentence, tool or agent
    state: str = RequestState.PENDING  # `any` for all states
    claimed_by: uuid.UUID | None = None
    unclaimed: bool = False
    overdue: bool = False
    risks: Sequence[str] = ()
    tools: Sequence[str] = ()
    agents: Sequence[str] = ()
    teams: Sequence[str] = ()

    @property
    def narrows(self) -> bool:
        """Whether anything is filtered out."""
        return self != Filters()


def filters_of(given: Mapping[str, Sequence[str]], *, member_id: uuid.UUID) -> Filters:
    """The filters that the parameters of an address name; `member_id` is who "claimed by me" means."""

    def one(name: str) -> str:
        values = given.get(name, ())
        return values[-1] if values else ""

    def many(name: str) -> tuple[str, ...]:
        return tuple(given.get(name, ())[:MOST_VALUES])

    return Filters(
        text=one("q")[:200],
        state="any" if one("state") == "any" else RequestState.PENDING,
        claimed_by=member_id if one("mine") else None,
        unclaimed=bool(one("free")),
        overdue=bool(one("late")),
        risks=tuple(value for value in many("risk") if value in Risk.values),
        tools=many("tool"),
        agents=many("agent"),
        teams=many("team"),
    )


def narrowed(rows: QuerySet[ReviewRequest], filters: Filters) -> QuerySet[ReviewRequest]:
    """Those of `rows` that the filters let through."""
    if filters.state != "any":
        rows = rows.filter(state=filters.state)
    if filters.claimed_by is not None:
        rows = rows.filter(claimed_by_id=filters.claimed_by, claimed_until__gt=DbNow())
    if filters.unclaimed:
        rows = rows.filter(Q(claimed_by__isnull=True) | Q(claimed_until__lte=DbNow()))
    if filters.overdue:
        rows = rows.filter(deadline_at__lte=DbNow())
    if filters.risks:
        rows = rows.filter(risk__in=filters.risks)
    if filters.tools:
        rows = rows.filter(tool_name__in=filters.tools)
    if filters.agents:
        rows = rows.filter(agent_name__in=filters.agents)
    if filters.teams:
        rows = rows.filter(named(team__name__in=filters.teams))
    return rows.filter(_text(filters.text)) if filters.text.strip() else rows


def _text(text: str) -> Q:
    text = text.strip()
    bare = text.removeprefix("#")
    if bare.isascii() and bare.isdecimal() and len(bare) < 18:
        return Q(number=int(bare)) | Q(plain_sentence__icontains=text)
    return Q(plain_sentence__icontains=text) | Q(tool_name__icontains=text) | Q(agent_name__icontains=text)


def named(**teams: object) -> Exists:
    """Whether a request names such a team."""
    through = ReviewRequest.teams.through
    return Exists(through.objects.filter(reviewrequest_id=OuterRef("pk"), **teams))
