"""Which of the calls that ran without waiting are looked at afterwards: by rate and risk, always the same ones.

The number of a call follows from its id by a key of the installation. So the draw can be made again at any time with
the same result, nobody chooses what is looked at, and no agent can reckon beforehand which of its calls that will be.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from django.utils.crypto import salted_hmac

OF: Final = 100
TIMES: Final = {"low": 1, "medium": 2}
"""How many times the rule's share; what is of a higher risk is always drawn."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """A call that is drawn, and why. `number` is its own one among the `percent` of 100 that are drawn."""

    because: str
    severity: str = ""
    percent: int = OF
    number: int | None = None


def sampled(*, call_id: uuid.UUID, percent: int, risk: str, failed: bool, because: str) -> Draw | None:
    """Draws a call that a rule observes, or leaves it.

    Args:
        percent: how many of a hundred calls of low risk the rule wants looked at.
        risk: of this call.
        failed: whether it ended so; what failed is always drawn.
        because: what the rule says of it, in words.
    """
    share = share_of(percent, risk)
    if failed:
        return Draw(because=f"{because} It failed, and what fails is always drawn.")
    if share == OF:
        return Draw(
            because=because if percent == OF else f"{because} {risk.capitalize()} risk: always drawn."
        )
    number = number_of(call_id)
    if number >= share:
        return None
    twice = f", twice its share for {risk} risk" if share != percent else ""
    return Draw(
        because=f"{because} Number {number} is among the first {share} of {OF}{twice}.",
        percent=share,
        number=number,
    )


def share_of(percent: int, risk: str) -> int:
    """How many of a hundred calls of this risk are drawn."""
    return min(OF, percent * TIMES[risk]) if risk in TIMES else OF


def number_of(call_id: uuid.UUID) -> int:
    """The number of a call, 0 to 99."""
    return (
        int.from_bytes(salted_hmac("reviewhub.post-review", call_id.bytes, algorithm="sha256").digest()[:8])
        % OF
    )
