"""Rules by tool: a call is compared with those that can be about its tool, and not with all of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from reviewhub.policies.names import (
    fold_case,
    fold_look,
    foldings,
    has_wildcard,
    matches_exactly,
    matches_folded,
)
from reviewhub.tools.acts import reaches

MOST_NAMES = 1000
"""How many names of tools are remembered; names are the agents' and may be many."""


class About(Protocol):
    """What an index needs to know of a rule."""

    @property
    def tool(self) -> str: ...

    @property
    def lets_run(self) -> bool: ...


_WILDCARD = re.compile(r"[*?]")

R = TypeVar("R", bound=About)


class Index(Generic[R]):
    """The rules of one layer, with their positions counted from 1, by the names of tools that they match."""

    def __init__(self, rules: Sequence[R]) -> None:
        """`rules` in the order in which they are asked."""
        self._rules = rules
        self._globs: list[tuple[int, tuple[str, ...]]] = []
        self._plain: dict[str, list[int]] = {}
        self._found: dict[str, tuple[tuple[int, R], ...]] = {}
        for at, rule in enumerate(rules):
            if has_wildcard(rule.tool):
                self._globs.append(
                    (at, tuple(map(_beginning, (rule.tool,) if rule.lets_run else foldings(rule.tool))))
                )
                continue
            for key in {rule.tool, fold_case(rule.tool), fold_look(rule.tool)}:
                self._plain.setdefault(key, []).append(at)

    def about(self, tool: str) -> tuple[tuple[int, R], ...]:
        """The rules that match this name of a tool, in order."""
        found = self._found.get(tool)
        if found is None:
            names = {tool, fold_case(tool), fold_look(tool)}
            places = {at for name in names for at in self._plain.get(name, ())}
            foldings_of_tool = foldings(tool)
            for at, beginnings in self._globs:
                spelled = (tool,) if self._rules[at].lets_run else foldings_of_tool
                if any(name.startswith(start) for name, start in zip(spelled, beginnings, strict=True)):
                    places.add(at)
            rules = [(at + 1, self._rules[at]) for at in sorted(places)]
            found = tuple((position, rule) for position, rule in rules if is_about(rule, tool))
            if len(self._found) >= MOST_NAMES:
                self._found.clear()
            self._found[tool] = found
        return found


def _beginning(pattern: str) -> str:
    """What names have to begin with: it rules out most patterns at once."""
    return _WILDCARD.split(pattern, maxsplit=1)[0]


def is_about(rule: About, tool: str) -> bool:
    """Whether a rule matches this name: code point by code point if it lets calls run, else however it is spelled."""
    if not reaches(rule.tool, tool, lets_run=rule.lets_run):
        return False
    return matches_exactly(rule.tool, tool) if rule.lets_run else matches_folded(rule.tool, tool)
