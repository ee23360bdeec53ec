"""What the queue is narrowed down to: read from an address, for the page and for its live updates alike."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef, Q, QuerySet

from reviewhub.accounts.lent import DECIDING_ROLES, Lent, lent_to
from reviewhub.accounts.models import Agent, Role, Team
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.core.clock import DbNow
from reviewhub.core.words import words_asked
from reviewhub.reviews.hands import has_hand_in
from reviewhub.reviews.models import Review, ReviewRequest, Snooze
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Words
from reviewhub.tools.models import Risk

MOST_VALUES = 60  # of one filter
FEW = 3000  # calls that a search finds
OF_ONESELF = frozenset({"me", "mine", "snoozed"})
"""The parameters of an address that mean whoever reads it."""
FOUR_EYES = '"four_eyes":true'
"""How a stored requirement says it; inside of its texts the quotes would be escaped."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """Whose answer is looked for: of a member, with their own teams and those of whoever lent them votes."""

    member_id: uuid.UUID
    email: str
    team_ids: frozenset[uuid.UUID]
    is_manager: bool
    lent: tuple[Lent, ...] = ()

    @property
    def all_team_ids(self) -> frozenset[uuid.UUID]:
        """The teams that somebody may vote for here."""
        return self.team_ids.union(*(one.team_ids for one in self.lent))


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the queue is narrowed down to; empty values do not narrow."""

    text: str = ""  # a number, or words of the sentence, the arguments, tool or agent
    voted_by: uuid.UUID | None = None
    state: str = RequestState.PENDING  # `any` for all states
    needs: Needed | None = None
    claimed_by: uuid.UUID | None = None
    unclaimed: bool = False
    overdue: bool = False
    risks: Sequence[str] = ()
    tools: Sequence[str] = ()
    agents: Sequence[str] = ()
    teams: Sequence[str] = ()
    # Who they are that `agents` and `teams` name: few rows of one are found by its index, names have none.
    agent_ids: frozenset[uuid.UUID] = frozenset()
    team_ids: frozenset[uuid.UUID] = frozenset()
    snoozed_by: uuid.UUID | None = None  # who has put them off
    awake_for: uuid.UUID | None = None  # who has not

    @property
    def narrows(self) -> bool:
        """Whether anything is filtered out on purpose."""
        return replace(self, awake_for=None) != Filters()


def filters_of(given: Mapping[str, Sequence[str]], *, caller: MemberCaller) -> Filters:
    """The filters that the parameters of an address name; `caller` is who "claimed by me" and "needs me" mean."""

    def one(name: str) -> str:
        values = given.get(name, ())
        return values[-1] if values else ""

    def many(name: str) -> tuple[str, ...]:
        return tuple(given.get(name, ())[:MOST_VALUES])

    text, is_any = one("q")[:200], one("state") == "any"
    is_put_off = bool(one("snoozed"))
    agents, teams = many("agent"), many("team")
    return Filters(
        text=text,
        state="any" if is_any else RequestState.PENDING,
        snoozed_by=caller.member.pk if is_put_off else None,
        # Who searches or looks at all states finds also what they have put off.
        awake_for=None if is_put_off or is_any or text.strip() else caller.member.pk,
        voted_by=_uuid(one("by")),
        needs=needs_of(caller) if one("me") else None,
        claimed_by=caller.member.pk if one("mine") else None,
        unclaimed=bool(one("free")),
        overdue=bool(one("late")),
        risks=tuple(value for value in many("risk") if value in Risk.values),
        tools=many("tool"),
        agents=agents,
        teams=teams,
        agent_ids=_called(Agent, caller, agents),
        team_ids=_called(Team, caller, teams),
    )


def needs_of(caller: MemberCaller) -> Needed:
    """What `Filters.needs` looks for, when it is this member's answer."""
    role = caller.member.role
    return Needed(
        member_id=caller.member.pk,
        email=caller.member.person.email,
        team_ids=caller.team_ids if role in DECIDING_ROLES else frozenset(),
        is_manager=role == Role.MANAGER,
        lent=tuple(lent_to(caller.member)),
    )


def narrowed(
    rows: QuerySet[ReviewRequest], filters: Filters, *, few: bool = False
) -> QuerySet[ReviewRequest]:
    """Those of `rows` that the filters let through.

    Args:
        few: a search is asked at once which calls it finds, and few of them are named by their ids: no database
            foresees how rare a word is, and one that takes it for a common one looks through the whole queue.
    """
    if filters.state != "any":
        rows = rows.filter(state=filters.state)
    if filters.voted_by is not None:
        rows = rows.filter(Exists(Review.objects.filter(request=OuterRef("pk"), member_id=filters.voted_by)))
    if filters.needs is not None:
        rows = rows.filter(_needs(filters.needs))
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
        rows = rows.filter(agent_id__in=filters.agent_ids)
    if filters.snoozed_by is not None:
        rows = rows.filter(snoozed(filters.snoozed_by))
    if filters.awake_for is not None:
        rows = rows.exclude(snoozed(filters.awake_for))
    if filters.teams:
        rows = rows.filter(named(team_id__in=filters.team_ids))
    return rows.filter(_text(filters.text, few=few)) if filters.text.strip() else rows


def snoozed(member_id: uuid.UUID) -> Exists:
    """Whether this member has put a request off, as it is now."""
    kept = Snooze.objects.filter(request_id=OuterRef("pk"), member_id=member_id)
    return Exists(kept.filter(version=OuterRef("version"), until__gt=DbNow()))


def _text(text: str, *, few: bool) -> Q:
    text = text.strip()
    bare = text.removeprefix("#")
    calls = Words.objects.filter(call_id__isnull=False, words__holds=words_asked(text))
    named = _if_few(calls.values_list("call_id", flat=True)) if few else calls.values("call_id")
    if not (bare.isascii() and bare.isdecimal() and len(bare) < 18):
        return Q(tool_call_id__in=named)
    number = Q(number=int(bare))
    return number if text.startswith("#") else number | Q(tool_call_id__in=named)


def _if_few(
    calls: QuerySet[Words, uuid.UUID | None],
) -> QuerySet[Words, uuid.UUID | None] | list[uuid.UUID | None]:
    found = list(calls[: FEW + 1])
    return found if len(found) <= FEW else calls


def _called(
    what: type[Agent] | type[Team], caller: MemberCaller, names: Sequence[str]
) -> frozenset[uuid.UUID]:
    """The ids of the workspace's agents, or teams, of these names; asks for nothing where there are none."""
    if not names:
        return frozenset()
    rows = what._default_manager.filter(workspace_id=caller.workspace_id, name__in=names)
    return frozenset(rows.values_list("pk", flat=True))


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        return None


def _needs(who: Needed) -> Q:
    """It asks one of their teams (or the managers) now, there is time, they have not said anything to it yet, and four
    eyes keep neither them nor everybody in whose place they would vote from approving it."""
    asked = Q(asks_managers=True) if who.is_manager else Q(pk__in=[])
    asked |= _asks(who.team_ids)
    for one in who.lent:
        if others := one.team_ids - who.team_ids:
            asked |= Q(_asks(others), _is_free(one.member_id, one.email))
    voted = Review.objects.filter(request=OuterRef("pk"), member_id=who.member_id, voided_at__isnull=True)
    in_time = Q(deadline_at__isnull=True) | Q(deadline_at__gt=DbNow())
    free = _is_free(who.member_id, who.email)
    return Q(asked, in_time, ~Exists(voted), free, state=RequestState.PENDING)


def _asks(team_ids: Iterable[uuid.UUID]) -> Q:
    """Whether it asks one of these teams now."""
    found = Q(pk__in=[])
    for team in sorted(team_ids):
        found |= Q(asks__contains=f" {team} ")
    return found


def _is_free(member_id: uuid.UUID, email: str) -> Q:
    """Whether four eyes leave an answer to this member. What happened, of a call of unknown outcome, everybody may say
    who is asked: only that it runs once more takes four eyes."""
    eyes = Q(requirement__contains=FOUR_EYES, kind=ReviewRequest.Kind.APPROVAL)
    return ~(eyes & has_hand_in(member_id, email))


def named(**teams: object) -> Exists:
    """Whether a request names such a team."""
    through = ReviewRequest.teams.through
    return Exists(through.objects.filter(reviewrequest_id=OuterRef("pk"), **teams))
