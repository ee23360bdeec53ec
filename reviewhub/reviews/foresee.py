"""How far a request will have come with one more vote: said before it is confirmed, by the rule that counts it then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from reviewhub.accounts.models import Member
from reviewhub.core.clock import now
from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.involved import involved
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import Involved, Tally, Vote, free_seats, tally
from reviewhub.reviews.seating import seating
from reviewhub.reviews.seats import Seat
from reviewhub.reviews.vote import votes_of


def foresee(
    row: ReviewRequest, stored: Stored, member: Member, *, verdict: Literal["approve", "edit"]
) -> Tally:
    """The tally when `member` approves, or makes the next version by an edit, which begins the votes anew.

    Args:
        stored: the requirement that holds then; after an edit that of the edited call.
    """
    hands: Involved = involved(row, stored.requirement)
    seats = seating(stored=stored, member=member).seats
    return foreseen(
        row, stored.requirement, member, verdict=verdict, votes=votes_of(row), hands=hands, seats=seats
    )


def foreseen(
    row: ReviewRequest,
    needed: Requirement,
    member: Member,
    *,
    verdict: Literal["approve", "edit"],
    votes: Sequence[Vote],
    hands: Involved,
    seats: Sequence[Seat],
) -> Tally:
    """The same, of votes that were read already.

    Args:
        votes: those that are not void.
        hands: who has a hand in the call.
        seats: where `member` sits.
    """
    version, others = row.version, [vote for vote in votes if vote.member_id != member.pk]
    if verdict == "edit":
        version, others = row.version + 1, []
        hands = replace(hands, edited_by=hands.edited_by | {member.pk})
    free = free_seats(needed, seats, hands)
    mine = Vote(member_id=member.pk, verdict=verdict, version=version, at=now(), seats=free)
    return tally(needed, [*others, mine], version=version)
