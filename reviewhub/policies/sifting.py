"""Many names and patterns held against each other: most pairs are ruled out by the letters in them. Pure.

What is written in a pattern, between its wildcards, stands in every name and pattern that it covers. So each gets a
number with a bit for each letter and each few letters in a row, and a pattern can only cover what has all of its bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from reviewhub.policies.names import covers, foldings, has_wildcard, is_plain, matches_exactly

_BITS = 1021
_ROW = 4
"""So many letters in a row have a bit of their own."""
_WILDCARDS = re.compile(r"[*?]+")


@dataclass(frozen=True)
class Sifted:
    """A name or a pattern with its bits: as it is written, and in both foldings."""

    text: str

    @cached_property
    def bits(self) -> int:
        """Those of the text as it is written."""
        return _bits(self.text)

    @cached_property
    def folded(self) -> Sequence[tuple[str, int]]:
        """Both foldings, with their bits; one where they are the same."""
        return [(text, _bits(text)) for text in dict.fromkeys(foldings(self.text))]

    def covers(self, other: Sifted, *, exactly: bool) -> bool:
        """Whether this pattern stands for all that the other pattern does: for names in plain ASCII as they are
        written, or however they are spelled."""
        if exactly:
            return not self.bits & ~other.bits and _covers_exactly(self.text, other.text)
        mine, others = self.folded, other.folded
        if len(mine) == len(others) == 1:
            return not mine[0][1] & ~others[0][1] and covers(mine[0][0], others[0][0])
        pairs = zip((mine[0], mine[-1]), (others[0], others[-1]), strict=True)
        return any(not need & ~has and covers(wide, narrow) for (wide, need), (narrow, has) in pairs)


class Names:
    """Many names, to be asked which of them a pattern covers."""

    def __init__(self, names: Iterable[str]) -> None:
        each = [Sifted(name) for name in sorted(set(names))]
        # With the bits that a name has not: one operation on a pattern's rules most names out.
        self._written = [(~name.bits, name.text) for name in each]
        self._folded = [(~bits, name) for name in each for bits in {bits for _, bits in name.folded}]

    def covered(self, pattern: Sifted, *, exactly: bool) -> Iterator[str]:
        """Those that a pattern stands for: code point by code point, or however they are spelled; one by one, since
        most who ask want the first."""
        if exactly:
            need = pattern.bits
            return (
                text
                for lacks, text in self._written
                if not need & lacks and matches_exactly(pattern.text, text)
            )
        first, last = pattern.folded[0][1], pattern.folded[-1][1]
        may = (name for lacks, name in self._folded if not first & lacks or not last & lacks)
        return (name.text for name in may if pattern.covers(name, exactly=False))


def _covers_exactly(wide: str, narrow: str) -> bool:
    if wide == narrow:
        return True
    return has_wildcard(wide) and covers(wide, narrow) and (has_wildcard(narrow) or is_plain(narrow))


@lru_cache(maxsize=8192)
def _bits(text: str) -> int:
    found = 0
    for run in _WILDCARDS.split(text):
        for length in range(1, _ROW + 1):
            for at in range(len(run) - length + 1):
                found |= 1 << hash(run[at : at + length]) % _BITS
    return found
