"""Times kept so that they can be added up: each falls into a bucket, and buckets of many days give their quantiles.

A bucket is 2 % wide, so a quantile is off by 1 % at most, however many times are put together (as in DDSketch, Masson
and others 2019). A sketch is the sorted buckets of its times, two bytes each.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

ERROR = 0.01
"""The share by which a quantile may be off."""
_WIDTH = (1 + ERROR) / (1 - ERROR)
Sketch = bytes | memoryview
"""As databases give one back."""
_LOG = math.log(_WIDTH)


def bucket(milliseconds: float) -> int:
    """The bucket of a time; 0 holds everything up to a millisecond."""
    if milliseconds <= 1:
        return 0
    return math.ceil(math.log(milliseconds) / _LOG)


def middle(number: int) -> float:
    """The time in milliseconds that stands for a bucket."""
    return 2 * _WIDTH**number / (_WIDTH + 1)


def sketch(times: Iterable[float]) -> bytes:
    """The sketch of some times in milliseconds."""
    return _swapped(array("H", sorted(map(bucket, times)))).tobytes()


def quantiles(sketches: Iterable[Sketch], shares: Sequence[float]) -> list[float] | None:
    """The quantiles of all times in some sketches, in milliseconds, between the closest two as numpy does it.

    Args:
        shares: 0.5 for the median, and so on, each from 0 to 1.

    Returns:
        One for each share, or None when there are no times.
    """
    return quantiles_of(tally(sketches), shares)


def tally(sketches: Iterable[Sketch]) -> Counter[int]:
    """How many times of some sketches are in each bucket."""
    return Counter(_swapped(array("H", b"".join(sketches))))


def quantiles_of(buckets: Counter[int], shares: Sequence[float]) -> list[float] | None:
    """The same of times that were counted by bucket."""
    if not buckets:
        return None
    steps: list[tuple[int, int]] = []
    seen = 0
    for number, count in sorted(buckets.items()):
        seen += count
        steps.append((seen, number))
    return [_at(steps, share * (seen - 1)) for share in shares]


def _at(steps: Sequence[tuple[int, int]], place: float) -> float:
    below = math.floor(place)
    low, high = _value(steps, below), _value(steps, math.ceil(place))
    return low + (high - low) * (place - below)


def _value(steps: Sequence[tuple[int, int]], index: int) -> float:
    return middle(next(number for seen, number in steps if index < seen))


def _swapped(many: array[int]) -> array[int]:
    """Sketches are little-endian, wherever they are read."""
    if sys.byteorder == "big":
        many.byteswap()
    return many
