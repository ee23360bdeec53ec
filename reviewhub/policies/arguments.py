"""The arguments of one call, as conditions see them: read once, numbers only if every reader reads the same. Pure."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property
from time import thread_time
from typing import Any, Final

from reviewhub_agents import canonical

from reviewhub.policies.readings import Readings

MISSING: Final = object()
MOST_SECONDS: Final = 0.015
"""What all conditions on one call may take together; what is left then counts as not decided."""
_INT64 = Decimal(2**63)
DOUBLE_STEPS: Final = Decimal(2**53)
_DECIMAL = re.compile(
    r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?|[+-]?\.[0-9]+(?:[eE][+-]?[0-9]{1,4})?", re.ASCII
)


class Inexact(ValueError):
    """A number that an int64 or a double cannot hold exactly: whoever runs the call may read another one."""


class Arguments:
    """The canonical text of a call's arguments, and how much time conditions have spent on them."""

    def __init__(self, text: str, tree: canonical.Tree = None) -> None:
        """`text` as it was validated, and as the tool gets it; `tree` is its value, where somebody has read it already.

        It is an object, so None says that nobody has.
        """
        self.text = text
        self._read = tree
        self.seconds = 0.0
        self.given: tuple[dict[str, str], Any] | None = None
        self.readings = Readings()

    @cached_property
    def tree(self) -> canonical.Tree:
        """The value."""
        return canonical.reread(self.text) if self._read is None else self._read

    @cached_property
    def plain(self) -> Any:
        """The value with int and float for its numbers. Raises Inexact, naming the path."""
        return _plain(self.tree, "")

    def check_doubles(self) -> None:
        """For expressions that make doubles. Raises Inexact, naming the path, for a value that one would round."""
        if self._rounded:
            raise Inexact(self._rounded)

    @cached_property
    def _rounded(self) -> str:
        return _rounded(self.tree, "")

    @cached_property
    def values(self) -> int:
        """How many values it has, at least."""
        return self.text.count(",") + self.text.count("[") + self.text.count("{") + 1

    def at(self, path: str) -> Any:
        """The value at a dotted path, MISSING where there is none."""
        found: Any = self.tree
        for key in path.split("."):
            if isinstance(found, dict):
                found = found.get(key, MISSING)
            elif isinstance(found, list) and key.isascii() and key.isdecimal() and len(key) < 7:
                found = found[int(key)] if int(key) < len(found) else MISSING
            else:
                return None if found is None else MISSING
        return found

    def spend(self, since: float) -> None:
        """Counts the time since `since` (of `thread_time`)."""
        self.seconds += thread_time() - since

    @property
    def is_spent(self) -> bool:
        """Whether the time for conditions is used up."""
        return self.seconds > MOST_SECONDS


def same_at(one: Arguments, other: Arguments, path: str) -> bool:
    """Whether two have the same value at a dotted path, to the last digit, or both have none there."""
    found = [arguments.at(path) for arguments in (one, other)]
    if MISSING in found:
        return found[0] is found[1]
    return canonical.dumps(found[0]) == canonical.dumps(found[1])


def number(value: canonical.Number) -> int | float:
    """The number, as int where it is whole. Raises Inexact for one that int64 and double cannot hold exactly."""
    exact = Decimal(value.literal)
    if exact == exact.to_integral_value() and -_INT64 <= exact < _INT64:
        return int(exact)
    if abs(exact) >= DOUBLE_STEPS:
        raise Inexact("the number is more than 64 bits hold exactly")
    near = float(exact)
    if Decimal(repr(near)) != exact:
        raise Inexact("the number has more digits than 64 bits hold exactly")
    return near


def _plain(tree: canonical.Tree, path: str) -> Any:
    if isinstance(tree, canonical.Number):
        try:
            return number(tree)
        except Inexact as error:
            raise Inexact(f"{path or 'it'}: {error}") from error
    if isinstance(tree, dict):
        return {key: _plain(value, f"{path}.{key}".lstrip(".")) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_plain(value, f"{path}.{at}".lstrip(".")) for at, value in enumerate(tree)]
    return tree


def _rounded(tree: canonical.Tree, path: str) -> str:
    """Which value a double would round, in words; empty for none. Texts count that read as a number."""
    if isinstance(tree, dict):
        found = (_rounded(value, f"{path}.{key}".lstrip(".")) for key, value in tree.items())
        return next(filter(None, found), "")
    if isinstance(tree, list):
        return next(
            filter(None, (_rounded(value, f"{path}.{at}".lstrip(".")) for at, value in enumerate(tree))), ""
        )
    text = tree.literal if isinstance(tree, canonical.Number) else tree
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text := text.strip()):
        return ""
    rounds = Decimal(repr(float(text))) != Decimal(text)
    return f"{path or 'it'}: the number has more digits than 64 bits hold exactly" if rounds else ""
