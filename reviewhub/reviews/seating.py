"""For which stages of a request a member may vote: their own teams, those of whoever lent them votes, and what the
escalation added."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from reviewhub.accounts.lent import Lent, lent_to
from reviewhub.accounts.models import Member, Role
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.seats import Seat


@dataclass(frozen=True)
class Seating:
    """The stages that one member may vote for, and the names of those who lent them votes."""

    seats: tuple[Seat, ...]
    lenders: dict[UUID, str]


def seating(*, stored: Stored, member: Member) -> Seating:
    """Where `member` may vote now, each stage once for themselves or else in the place of others."""
    own = frozenset(member.teams.values_list("pk", flat=True))
    lent = lent_to(member)
    seats = dict.fromkeys(_seats(stored, member, own, lent))
    return Seating(seats=tuple(seats), lenders={one.member_id: one.name for one in lent})


def said_for(stored: Stored, seats: Sequence[Seat]) -> str:
    """The teams that a vote is for, in words."""
    teams = (stored.requirement.stages[seat.stage].team for seat in seats)
    return " and ".join(dict.fromkeys(teams))


def pack(seats: Sequence[Seat]) -> str:
    """Seats as they are kept with a vote."""
    return json.dumps([{"stage": seat.stage, **({"of": str(seat.of)} if seat.of else {})} for seat in seats])


def unpack(text: str) -> tuple[Seat, ...] | None:
    """What `pack` wrote; None for votes from before there were stages."""
    if not text:
        return None
    return tuple(Seat(one["stage"], UUID(one["of"]) if "of" in one else None) for one in json.loads(text))


def _seats(stored: Stored, member: Member, own: frozenset[UUID], lent: Sequence[Lent]) -> Iterator[Seat]:
    asked = [(stage, team) for stage, team in enumerate(stored.teams)]
    for stand_in in stored.stand_ins:
        if stand_in.team is not None:
            asked += [(stage, stand_in.team) for stage in stand_in.stages]
        elif member.role == Role.MANAGER:
            yield from (Seat(stage) for stage in stand_in.stages)
    mine = {stage for stage, team in asked if team in own}
    for stage, team in asked:
        if stage in mine:
            yield Seat(stage)
        else:
            yield from (Seat(stage, one.member_id) for one in lent if team in one.team_ids)
