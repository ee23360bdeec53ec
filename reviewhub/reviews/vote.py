"""Votes: written under the request's lock, then read and counted by the pure rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from reviewhub_agents import wire
from reviewhub_agents.wire.fields import time_text

from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.checkpoints.queries import hash_of
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


def vote(*, locked: LockedRequest, member: Member, body: wire.DecideBody, place: Place, actor: Actor) -> str:
    """Writes a member's vote on the current version.

    While the request is open they may change their mind: what they said before is void from now on.

    Returns:
        The verdict that this one takes the place of, or nothing.

    Raises:
        AlreadyVoted: they have said the same of this version; with `verdict`, `at`.
    """
    row = locked.request
    before = row.reviews.filter(member=member, voided_at__isnull=True).first()
    if before is not None:
        if rules.says_the_same(cast("Verdict", before.verdict), cast("Verdict", body.type.value)):
            raise AlreadyVoted(verdict=before.verdict, at=time_text(before.created_at))
        row.reviews.filter(pk=before.pk).update(voided_at=now(), voided_because="voted again")
    Review.objects.create(
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
    return before.verdict if before is not None else ""


def count(
    *,
    locked: LockedRequest,
    stored: Stored,
    member: Member,
    body: wire.DecideBody,
    place: Place,
    turn: int,
    instead_of: str,
    actor: Actor,
) -> Counted:
    """Counts the votes of a locked request, keeps on it how far it is, and records the vote of `member`. When their
    vote completes a turn, whoever comes next is asked.

    Args:
        turn: whose turn it was before this vote.
        instead_of: what they said before, as `vote` gave it.
    """
    row, verdict = locked.request, body.type.value
    votes, tally = votes_of(row), tallied(row, stored)
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
            instead_of=instead_of,
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
            checkpoint=hash_of(locked.call.checkpoint_id) or "",
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
    tally = rules.tally(stored.requirement, votes_of(row), version=row.version)
    row.approvals = len(tally.approvals)
    row.waits_for, row.asks = waits_for(stored, tally), asks(stored, tally)
    ReviewRequest.objects.filter(pk=row.pk).update(
        approvals=row.approvals, waits_for=row.waits_for, asks=row.asks
    )
    return tally


def votes_of(row: ReviewRequest) -> list[rules.Vote]:
    """The votes that are not void, the oldest first."""
    return as_votes(row.reviews.filter(voided_at__isnull=True).order_by("created_at", "id"))


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
