"""Which calls mean the same, however their numbers are written. Pure.

What people approve is bound to the digest: exact bytes, one spelling. But 100, 100.0 and 1e2 are one amount of money,
so whether a call that must not run twice has run elsewhere is asked by its likeness: the SHA-256 over tool and
arguments with every number in one spelling, also where it stands in a text, as amounts of money do.
"""

from __future__ import annotations

import re
from decimal import Decimal
from hashlib import sha256

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

_AMOUNT = re.compile(r"-?(?:0|[1-9][0-9]{0,40})(?:\.[0-9]{1,40})?", re.ASCII)


def likeness(*, tool: str, arguments: str) -> str:
    """64 hex digits: the same for calls of one tool whose arguments differ in how their numbers are written.

    Args:
        arguments: canonical text.
    """
    return likeness_of(tool=tool, arguments=canonical.reread(arguments))


def likeness_of(*, tool: str, arguments: Tree) -> str:
    """As `likeness`, for arguments that were read already."""
    text = canonical.dumps({"arguments": _alike(arguments), "tool": tool})
    return sha256(text.encode()).hexdigest()


def _alike(tree: Tree) -> Tree:
    if isinstance(tree, Number):
        return _spelled(tree)
    if isinstance(tree, str):
        # Not 007, nor 1e2: these are names of things more often than numbers.
        return f"={_spelled(Number.trusted(tree))}" if _AMOUNT.fullmatch(tree) else tree
    if isinstance(tree, list):
        return [_alike(item) for item in tree]
    if isinstance(tree, dict):
        return {name: _alike(value) for name, value in tree.items()}
    return tree


def _spelled(number: Number) -> Number:
    """The shortest spelling, from sign, digits and power of ten: nothing is rounded, however long the number is."""
    if number.literal.isdecimal():
        kept = number.literal.rstrip("0")
        return Number.trusted(f"{kept}e{len(number.literal) - len(kept)}" if kept else "0")
    sign, digits, power = Decimal(number.literal).as_tuple()
    assert isinstance(power, int), "JSON has neither NaN nor infinity"
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return Number("0")
    kept = text.rstrip("0")
    power += len(text) - len(kept)
    # Trusted: a number that was taken may have an exponent beyond the limit once its digits are counted.
    return Number.trusted(f"{'-' if sign else ''}{kept}e{power}")
