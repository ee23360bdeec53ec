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

FIRST_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Vote:
    """What one member said about one version. `edit` names the version that it made."""

    member_id: UUID
    verdict: Verdict
    version: int
    at: datetime
    voided: bool = False


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How far a request has come. `needed` is the number of approvals still missing."""

    approvals: tuple[UUID, ...]
    denials: tuple[UUID, ...]
    needed: int


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
    """Who has a hand in a call already. None where nobody has; `edited_by` wrote the version voted on."""

    run_started_by: UUID | None = None
    agent_owned_by: UUID | None = None
    key_made_by: UUID | None = None
    acts_for: UUID | None = None
    edited_by: frozenset[UUID] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Barred:
    """Why somebody may not vote: a stable code and a sentence for them."""

    code: str
    text: str


def resolve(requirement: Requirement, votes: Iterable[Vote], *, version: int) -> Resolution | None:
    """The final answer to version `version` of a call, or None while it is open.

    A denial threshold reached rejects; one answer (`respond`), where that is allowed, decides; else the approvals
    needed, of distinct people, pass the version. An edit is its author's approval of the version it made, unless
    four eyes are required.
    """
    cast = _counting(requirement, votes, version)
    denials = [vote for vote in cast if vote.verdict == "reject"]
    if len(denials) >= requirement.deny_threshold:
        return _resolution("reject", denials[: requirement.deny_threshold], version)
    answers = [vote for vote in cast if vote.verdict == "respond"]
    if answers:
        return _resolution("respond", answers[:1], version)
    approvals = [vote for vote in cast if vote.verdict in ("approve", "edit")]
    if len(approvals) >= requirement.approvals:
        passed: Literal["approve", "edit"] = "approve" if version == FIRST_VERSION else "edit"
        return _resolution(passed, approvals[: requirement.approvals], version)
    return None


def tally(requirement: Requirement, votes: Iterable[Vote], *, version: int) -> Tally:
    """How far version `version` has come; for the answer to a vote, and for the dots on the page."""
    cast = _counting(requirement, votes, version)
    approvals = tuple(vote.member_id for vote in cast if vote.verdict in ("approve", "edit"))
    denials = tuple(vote.member_id for vote in cast if vote.verdict == "reject")
    return Tally(approvals=approvals, denials=denials, needed=max(0, requirement.approvals - len(approvals)))


def may_vote(
    requirement: Requirement, *, member_id: UUID, verdict: Verdict, version: int, involved: Involved
) -> Barred | None:
    """Why `member_id` may not give this verdict on `version`, or None when they may.

    Whether they see the request and belong to a team that decides it is a question of permissions, not asked here.
    Rejecting is always possible: it stops a call, and no rule should make that hard.
    """
    if verdict == "reject":
        return None
    if not _is_allowed(requirement, verdict, version):
        return Barred("decision_not_allowed", f"This request cannot be answered by {verdict}.")
    if not requirement.four_eyes:
        return None
    for person, why in (
        (involved.run_started_by, "you started this run"),
        (involved.agent_owned_by, "you own this agent"),
        (involved.key_made_by, "you made the key that this agent uses"),
        (involved.acts_for, "the agent acts for you"),
    ):
        if person == member_id:
            return Barred("four_eyes", f"Somebody else has to decide this: {why}.")
    if verdict == "approve" and member_id in involved.edited_by:
        return Barred("four_eyes", "Somebody else has to decide this: you wrote this version.")
    return None


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
