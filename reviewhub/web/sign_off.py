"""Who has signed off a request, who still has to, and why its reader may not: for the review page."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import cast

from reviewhub.accounts.permissions import MemberCaller
from reviewhub.core.actors import Actor
from reviewhub.policies.requirement import VERDICTS, Verdict
from reviewhub.reviews.assurance import must_sign_in
from reviewhub.reviews.foresee import foreseen
from reviewhub.reviews.involved import involved
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import Barred, may_let_run_again, may_vote, tally
from reviewhub.reviews.seating import seating
from reviewhub.reviews.vote import as_votes


@dataclass(frozen=True, kw_only=True)
class StageLine:
    """One stage: whose approvals it has, and whether it is its turn."""

    team: str
    got: int
    need: int
    names: tuple[str, ...]
    is_asked: bool
    is_together: bool

    @property
    def is_done(self) -> bool:
        """Whether everybody that it needs has approved."""
        return self.got >= self.need


@dataclass(frozen=True, kw_only=True)
class SignOff:
    """How far the sign-off of a request has come, as one reader sees it."""

    stages: tuple[StageLine, ...]
    added: tuple[str, ...]
    """Whom the escalation has added."""
    barred: Barred | None
    """Why this reader's answer is not taken; None when it is."""
    in_place_of: str
    """In whose place they would vote, where not in their own."""
    approvals: int
    """How many approvals count so far."""
    with_yours: int
    """How many count once this reader has approved."""
    counting: frozenset[uuid.UUID]
    """The members whose approvals these are; another one's place may be taken already."""
    wants_password: bool
    minutes: int | None

    @property
    def adds_nothing(self) -> bool:
        """Whether this reader's approval would count for no more than there is."""
        return self.with_yours <= self.approvals

    @property
    def has_stages(self) -> bool:
        """Whether there is more to say than so many of one team."""
        return len(self.stages) > 1

    @property
    def teams(self) -> str:
        """All that are asked, in words."""
        return " and ".join(dict.fromkeys(stage.team for stage in self.stages))


def sign_off(
    row: ReviewRequest, stored: Stored, caller: MemberCaller, *, who: Actor, votes: list[Review], mode: str
) -> SignOff:
    """The sign-off of a request, and what stands against its reader's answer of this kind (`mode`)."""
    needed = stored.requirement
    # Of the votes that were read already: one that came since would be told by no name.
    cast_votes = as_votes(votes)
    found = tally(needed, cast_votes, version=row.version)
    names = {vote.member_id: vote.name for vote in votes}
    place = seating(stored=stored, member=caller.member)
    hands = involved(row, needed)
    if row.kind == ReviewRequest.Kind.UNKNOWN:
        barred = may_let_run_again(needed, member_id=caller.member.pk, involved=hands)
        barred = barred if mode == "did_not_happen" else None
    else:
        barred = may_vote(
            needed,
            member_id=caller.member.pk,
            verdict=cast("Verdict", mode if mode in VERDICTS else "approve"),
            version=row.version,
            involved=hands,
            seats=place.seats,
            turn=found.turn,
        )
    ahead = foreseen(
        row, needed, caller.member, verdict="approve", votes=cast_votes, hands=hands, seats=place.seats
    )
    lent = all(seat.of is not None for seat in place.seats)
    lenders = (
        dict.fromkeys(place.lenders[seat.of] for seat in place.seats if seat.of is not None) if lent else {}
    )
    return SignOff(
        stages=tuple(
            StageLine(
                team=stage.team,
                got=len(found.stages[at]),
                need=stage.approvals,
                names=tuple(names[member] for member in found.stages[at]),
                is_asked=needed.turns[at] == found.turn and len(found.stages[at]) < stage.approvals,
                is_together=stage.together,
            )
            for at, stage in enumerate(needed.stages)
        ),
        added=tuple(dict.fromkeys(one.name for one in stored.stand_ins)),
        # Which answers a request takes is told by the answers that are offered.
        barred=barred if barred is not None and barred.code != "decision_not_allowed" else None,
        in_place_of=" and ".join(lenders),
        approvals=len(found.approvals),
        with_yours=len(ahead.approvals),
        counting=frozenset(found.approvals),
        wants_password=must_sign_in(needed, who),
        minutes=needed.sign_in_minutes,
    )
