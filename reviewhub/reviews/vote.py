"""Votes: written under the request's lock, then read and counted by the pure rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from reviewhub_agents import wire
from reviewhub_agents.wire.fields import time_text

from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.policies.rules import Verdict
from reviewhub.reviews import rules
from reviewhub.reviews.displayed import displayed
from reviewhub.reviews.errors import AlreadyVoted
from reviewhub.reviews.kinds import RequestVoted
from reviewhub.reviews.lock import LockedRequest
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.seating import pack, unpack
from reviewhub.reviews.seats import Seat
from reviewhub.reviews.turn import ask_next, asks, waits_for


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Whether the vote counts, how many approvals are still missing, and the final answer if there is one."""

    counts: bool
    needed: int
    resolution: rules.Resolution | None


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a vote may count for, and the same in words: which teams, and in whose place."""

    seats: tuple[Seat, ...]
    for_teams: str
    in_place_of: str


@dataclass(frozen=True, kw_only=True)
class Voted:
    """All votes that are not void, with the one that was just written; and the verdict that it takes the place of."""

    votes: list[Review]
    instead_of: str


def vote(
    *,
    locked: LockedRequest,
    member: Member,
    body: wire.DecideBody,
    place: Place,
    so_far: Sequence[Review],
    actor: Actor,
) -> Voted:
    """Writes a member's vote on the current version.

    While the request is open they may change their mind: what they said before is void from now on.

    Args:
        so_far: the votes that are not void, as `votes_on` read them under the request's lock.

    Raises:
        AlreadyVoted: they have said the same of this version; with `verdict`, `at`.
    """
    row = locked.request
    before = next((one for one in so_far if one.member_id == member.pk), None)
    if before is not None:
        if rules.says_the_same(cast("Verdict", before.verdict), cast("Verdict", body.type.value)):
            raise AlreadyVoted(verdict=before.verdict, at=time_text(before.created_at))
        row.reviews.filter(pk=before.pk).update(voided_at=now(), voided_because="voted again")
    mine = Review.objects.create(
        request=row,
        member=member,
        name=actor.name,
        verdict=body.type.value,
        version=row.version,
        digest=row.digest,
        message=body.message,
        note=body.note,
        reason=body.reason,
        seats=pack(place.seats),
        for_teams=place.for_teams[:400],
        in_place_of=place.in_place_of[:200],
    )
    return Voted(
        votes=[*(one for one in so_far if one is not before), mine],
        instead_of=before.verdict if before is not None else "",
    )


def count(
    *,
    locked: LockedRequest,
    stored: Stored,
    member: Member,
    body: wire.DecideBody,
    place: Place,
    turn: int,
    voted: Voted,
    actor: Actor,
) -> Counted:
    """Counts the votes of a locked request, keeps on it how far it is, and records the vote of `member`. When their
    vote completes a turn, whoever comes next is asked.

    Args:
        turn: whose turn it was before this vote.
        voted: as `vote` gave it.
    """
    row, verdict = locked.request, body.type.value
    votes = as_votes(voted.votes)
    tally = _keep(row, stored, votes)
    resolution = rules.resolve(stored.requirement, votes, version=row.version)
    record(
        "request.voted",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        pause_id=locked.call.pause_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestVoted(
            number=row.number,
            tool=row.tool_name,
            verdict=verdict,
            instead_of=voted.instead_of,
            version=row.version,
            digest=row.digest,
            message=body.message,
            note=body.note,
            approvals=row.approvals,
            needed=stored.requirement.approvals,
            displayed=displayed(row),
            for_teams=place.for_teams,
            in_place_of=place.in_place_of,
            policy_version=stored.policy_version,
            checkpoint=locked.state_hash,
            sentence=row.plain_sentence,
            reason=body.reason,
        ),
    )
    if resolution is None and tally.turn > turn:
        ask_next(row, stored, tally.turn)
    return Counted(
        counts=verdict == "respond" or member.pk in {*tally.approvals, *tally.denials},
        needed=tally.needed,
        resolution=resolution,
    )


def tallied(row: ReviewRequest, stored: Stored) -> rules.Tally:
    """How far a locked request has come by its votes; the number of approvals, and whose turn it is, are kept on it
    for the queue."""
    return _keep(row, stored, votes_of(row))


def _keep(row: ReviewRequest, stored: Stored, votes: Sequence[rules.Vote]) -> rules.Tally:
    tally = rules.tally(stored.requirement, votes, version=row.version)
    row.approvals = len(tally.approvals)
    row.waits_for, row.asks = waits_for(stored, tally), asks(stored, tally)
    ReviewRequest.objects.filter(pk=row.pk).update(
        approvals=row.approvals, waits_for=row.waits_for, asks=row.asks
    )
    return tally


def votes_on(row: ReviewRequest) -> list[Review]:
    """The votes that are not void, the oldest first."""
    return list(row.reviews.filter(voided_at__isnull=True).order_by("created_at", "id"))


def votes_of(row: ReviewRequest) -> list[rules.Vote]:
    """The same as the rules take them."""
    return as_votes(votes_on(row))


def as_votes(rows: Iterable[Review]) -> list[rules.Vote]:
    """Rows of votes as the rules take them."""
    return [
        rules.Vote(
            member_id=found.member_id,
            verdict=cast("Verdict", found.verdict),
            version=found.version,
            at=found.created_at,
            seats=unpack(found.seats),
        )
        for found in rows
    ]
