"""For which stages of a requirement people's approvals count: pure, on plain values.

Every approval that a stage asks for is a place, and every person who approves takes one at most: whoever is in two of
the teams asked counts where they are needed. So the order of votes decides nothing, and two stages are never passed by
one person, nor by somebody and the one who votes in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from reviewhub.policies.requirement import Requirement


@dataclass(frozen=True)
class Seat:
    """A stage that an approval may count for. `of` is the member in whose place it is given, None for oneself."""

    stage: int
    of: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class Approval:
    """One person's approval with the stages that it may count for; None stands for every stage."""

    member_id: UUID
    seats: tuple[Seat, ...] | None = None


def seated(requirement: Requirement, approvals: Sequence[Approval]) -> tuple[tuple[UUID, ...], ...]:
    """For each stage the people whose approvals it rests on; earlier stages are filled first, by earlier votes.

    Args:
        approvals: one for each person, the oldest first.
    """
    fits = _fitting(requirement, approvals)
    places = [at for at, stage in enumerate(requirement.stages) for _ in range(stage.approvals)]
    taken: dict[int, int] = {}  # which approval sits at a place
    for place in range(len(places)):
        _seat(place, places, fits, taken, set())
    found: list[list[int]] = [[] for _ in requirement.stages]
    for place, approval in taken.items():
        found[places[place]].append(approval)
    return tuple(tuple(approvals[one].member_id for one in sorted(stage)) for stage in found)


def current_turn(requirement: Requirement, filled: Sequence[Sequence[UUID]]) -> int:
    """The first turn that is not complete; one after the last when all are."""
    turns = requirement.turns
    open_ = (turns[at] for at, stage in enumerate(requirement.stages) if len(filled[at]) < stage.approvals)
    return min(open_, default=turns[-1] + 1)


def _fitting(requirement: Requirement, approvals: Sequence[Approval]) -> list[frozenset[int]]:
    """The stages that each approval may count for. Who votes in somebody's place does not, once that somebody or
    another one in their place has voted."""
    every = frozenset(range(len(requirement.stages)))
    voted = {approval.member_id for approval in approvals}
    found = []
    for approval in approvals:
        if approval.seats is None:
            found.append(every)
            continue
        seats = [seat for seat in approval.seats if seat.of is None or seat.of not in voted]
        voted |= {seat.of for seat in seats if seat.of is not None}
        found.append(frozenset(seat.stage for seat in seats) & every)
    return found


def _seat(
    place: int, places: Sequence[int], fits: Sequence[frozenset[int]], taken: dict[int, int], asked: set[int]
) -> bool:
    """Finds somebody for a place; who sits elsewhere moves if another can take that place (an augmenting path)."""
    for approval, stages in enumerate(fits):
        if places[place] not in stages or approval in asked:
            continue
        asked.add(approval)
        elsewhere = next((at for at, who in taken.items() if who == approval), None)
        if elsewhere is None or _seat(elsewhere, places, fits, taken, asked):
            taken[place] = approval
            return True
    return False
