"""When a review request is decided, and who may vote on it: pure, on plain values.

Votes count for one version of the tool call: an edit makes a new version, and what people said about the old one
stays on record and counts no more. Each person counts once, with what they said last. Denials are looked at before
approvals, so that when votes allow both answers the call does not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from reviewhub.policies.rules import Requirement, Verdict
from reviewhub.reviews.seats import Approval, Seat, current_turn, seated

FIRST_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Vote:
    """What one member said about one version. `edit` names the version that it made.

    `seats` are the stages that it may count for; None, for votes from before there were stages, is every one.
    """

    member_id: UUID
    verdict: Verdict
    version: int
    at: datetime
    voided: bool = False
    seats: tuple[Seat, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How far a request has come. `needed` is the number of approvals still missing.

    `stages` are for each stage the people whose approvals it rests on, `approvals` all of them in the order of voting.
    `turn` is whose turn it is, one after the last when nobody is asked any more.
    """

    approvals: tuple[UUID, ...]
    denials: tuple[UUID, ...]
    needed: int
    stages: tuple[tuple[UUID, ...], ...]
    turn: int


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The final answer. `type` is `edit` whenever the version that passed is not the first.

    `by` is the member whose vote completed it, `counted` everybody whose vote it rests on, in the order of voting.
    """

    type: Literal["approve", "edit", "reject", "respond"]
    version: int
    by: UUID
    counted: tuple[UUID, ...]


@dataclass(frozen=True, kw_only=True)
class Involved:
    """Who has a hand in a call already. None where nobody has; `runs_started_by` started its run or one above it,
    `agent_owned_then` owned the agent when one of these began or the call was asked for, `keys_made_by` made the keys
    that may have sent it, `forked_by` forked or rewrote the state that it came from, `edited_by` wrote the version that
    is voted on, or one before it."""

    runs_started_by: frozenset[UUID] = field(default_factory=frozenset)
    agent_owned_by: UUID | None = None
    agent_owned_then: frozenset[UUID] = field(default_factory=frozenset)
    keys_made_by: frozenset[UUID] = field(default_factory=frozenset)
    acts_for: frozenset[UUID] = field(default_factory=frozenset)
    forked_by: frozenset[UUID] = field(default_factory=frozenset)
    edited_by: frozenset[UUID] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Barred:
    """Why somebody may not vote: a stable code and a sentence for them."""

    code: str
    text: str


def resolve(requirement: Requirement, votes: Iterable[Vote], *, version: int) -> Resolution | None:
    """The final answer to version `version` of a call, or None while it is open.

    A denial threshold reached rejects; one answer (`respond`), where that is allowed, decides; else the approvals that
    all stages need, of distinct people, pass the version. An edit is its author's approval of the version it made,
    unless four eyes are required.
    """
    cast = _counting(requirement, votes, version)
    denials = [vote for vote in cast if vote.verdict == "reject"]
    if len(denials) >= requirement.deny_threshold:
        return _resolution("reject", denials[: requirement.deny_threshold], version)
    answers = [vote for vote in cast if vote.verdict == "respond"]
    if answers:
        return _resolution("respond", answers[:1], version)
    approving = _approving(cast)
    counted = {member for stage in _stages(requirement, approving) for member in stage}
    if len(counted) == requirement.approvals:
        passed: Literal["approve", "edit"] = "approve" if version == FIRST_VERSION else "edit"
        return _resolution(passed, [vote for vote in approving if vote.member_id in counted], version)
    return None


def tally(requirement: Requirement, votes: Iterable[Vote], *, version: int) -> Tally:
    """How far version `version` has come; for the answer to a vote, and for the dots on the page."""
    cast = _counting(requirement, votes, version)
    approving = _approving(cast)
    stages = _stages(requirement, approving)
    counted = {member for stage in stages for member in stage}
    return Tally(
        approvals=tuple(vote.member_id for vote in approving if vote.member_id in counted),
        denials=tuple(vote.member_id for vote in cast if vote.verdict == "reject"),
        needed=requirement.approvals - len(counted),
        stages=stages,
        turn=current_turn(requirement, stages),
    )


def may_vote(
    requirement: Requirement,
    *,
    member_id: UUID,
    verdict: Verdict,
    version: int,
    involved: Involved,
    seats: Sequence[Seat] | None = None,
    turn: int = 0,
) -> Barred | None:
    """Why `member_id` may not give this verdict on `version`, or None when they may.

    Whether they see the request is a question of permissions, not asked here. Rejecting is always possible: it stops a
    call, and no rule should make that hard.

    Args:
        seats: the stages that their approval may count for; None: every one.
        turn: whose turn it is.
    """
    if verdict == "reject":
        return None
    if not _is_allowed(requirement, verdict, version):
        return Barred("decision_not_allowed", f"This request cannot be answered by {verdict}.")
    if requirement.four_eyes and (hand := hand_in(involved, member_id)):
        return Barred("four_eyes", f"Somebody else has to decide this: {hand}.")
    if requirement.four_eyes and verdict == "approve" and member_id in involved.edited_by:
        return Barred("four_eyes", "Somebody else has to decide this: you changed it.")
    if seats is None:
        return None
    if not seats:
        return Barred("not_asked", f"This is decided by {_and(requirement.teams())}.")
    left = free_seats(requirement, seats, involved)
    if not left:
        return Barred(
            "four_eyes", "Somebody else has to decide this: in whose place you would vote has a hand in it."
        )
    turns = requirement.turns
    if all(turns[seat.stage] > turn for seat in left):
        first = [stage.team for stage, at in zip(requirement.stages, turns, strict=True) if at == turn]
        return Barred("not_yet", f"{_and(list(dict.fromkeys(first)))} has to approve before you are asked.")
    return None


def may_let_run_again(requirement: Requirement, *, member_id: UUID, involved: Involved) -> Barred | None:
    """Why `member_id` may not say of a call of unknown outcome that it did not happen, or None when they may.

    After that it runs once more, so it takes the eyes that its approval took. That it happened, or is not wanted any
    more, stops it, and everybody who is asked may say so.
    """
    if not requirement.four_eyes:
        return None
    hand = hand_in(involved, member_id) or ("you changed it" if member_id in involved.edited_by else "")
    return Barred("four_eyes", f"Somebody else has to say this: {hand}.") if hand else None


def free_seats(requirement: Requirement, seats: Sequence[Seat], involved: Involved) -> tuple[Seat, ...]:
    """Those of `seats` that four eyes leave: who has a hand in a call has it also when another votes in their place."""
    if not requirement.four_eyes:
        return tuple(seats)
    return tuple(
        seat
        for seat in seats
        if seat.of is None or not (hand_in(involved, seat.of) or seat.of in involved.edited_by)
    )


def hand_in(involved: Involved, member_id: UUID) -> str:
    """What hand a member has in the call itself, in words to them; empty for none. Four eyes keeps these apart."""
    for people, why in (
        (involved.runs_started_by, "you started this run"),
        ({involved.agent_owned_by}, "you own this agent"),
        (involved.agent_owned_then, "this agent was yours"),
        (involved.keys_made_by, "you made a key that this agent uses"),
        (involved.acts_for, "the agent acts for you"),
        (involved.forked_by, "you forked or rewrote this run"),
    ):
        if member_id in people:
            return why
    return ""


def says_the_same(before: Verdict, now: Verdict) -> bool:
    """Whether a second vote of one person on one version adds nothing. Who made a version by an edit is for it."""
    return before == now or (before, now) == ("edit", "approve")


def _counting(requirement: Requirement, votes: Iterable[Vote], version: int) -> list[Vote]:
    """The votes that count for `version`, one for each person, in the order of voting."""
    last: dict[UUID, Vote] = {}
    for vote in sorted(votes, key=lambda vote: vote.at):
        if vote.version == version and not vote.voided:
            last.pop(vote.member_id, None)
            last[vote.member_id] = vote
    return [vote for vote in last.values() if _counts(requirement, vote)]


def _approving(cast: Sequence[Vote]) -> list[Vote]:
    return [vote for vote in cast if vote.verdict in ("approve", "edit")]


def _stages(requirement: Requirement, approving: Sequence[Vote]) -> tuple[tuple[UUID, ...], ...]:
    return seated(requirement, [Approval(member_id=vote.member_id, seats=vote.seats) for vote in approving])


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


def _counts(requirement: Requirement, vote: Vote) -> bool:
    if vote.verdict == "edit" and (requirement.four_eyes or vote.version == FIRST_VERSION):
        return False
    return _is_allowed(requirement, vote.verdict, vote.version)


def _is_allowed(requirement: Requirement, verdict: Verdict, version: int) -> bool:
    allowed = requirement.allowed_decisions
    if verdict == "reject":
        return True
    if verdict == "approve" and version != FIRST_VERSION:
        # To approve what a colleague edited is part of editing.
        return "approve" in allowed or "edit" in allowed
    return verdict in allowed


def _resolution(
    type_: Literal["approve", "edit", "reject", "respond"], votes: Sequence[Vote], version: int
) -> Resolution:
    return Resolution(
        type=type_,
        version=version,
        by=votes[-1].member_id,
        counted=tuple(vote.member_id for vote in votes),
    )
