"""What one version of a policy changed against another, rule by rule. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reviewhub.policies.model import Line
from reviewhub.policies.rules import Policy

Kind = Literal["added", "removed", "changed", "moved"]


@dataclass(frozen=True)
class Field:
    """One field of a rule before and after, as values of the policy's text; None: not said."""

    name: str
    before: object
    after: object


@dataclass(frozen=True, kw_only=True)
class Change:
    """What happened to one rule. `position` is where it stands now, for a removed one where it stood."""

    kind: Kind
    rule: str
    position: int
    fields: tuple[Field, ...] = ()
    layer: str = "rules"


def difference(before: Policy, after: Policy) -> list[Change]:
    """The changes that lead from one policy to the other, in the order of the rules; removed ones last.

    A rule is the same one as long as it keeps its name. One counts as moved when it changed places with another that
    both versions have; guardrails and limits have no places.
    """
    guardrails = _between("guardrails", before.guardrails, after.guardrails)
    found = [change for change in guardrails if change.kind != "moved"]
    found += _between("rules", before.rules, after.rules)
    for (layer, old), (_, new) in zip(before.caps, after.caps, strict=True):
        found += [change for change in _between(layer, old, new) if change.kind != "moved"]
    return found


def _between(layer: str, before: Sequence[Line], after: Sequence[Line]) -> list[Change]:
    old = {rule.name: (at, rule) for at, rule in enumerate(before, start=1)}
    kept = [rule.name for rule in after if rule.name in old]
    places = {name: at for at, name in enumerate(sorted(kept, key=lambda name: old[name][0]))}
    found: list[Change] = []
    for position, rule in enumerate(after, start=1):
        if rule.name not in old:
            found.append(Change(kind="added", rule=rule.name, position=position, layer=layer))
        elif fields := _fields(old[rule.name][1], rule):
            found.append(
                Change(kind="changed", rule=rule.name, position=position, fields=fields, layer=layer)
            )
        elif places[rule.name] != kept.index(rule.name):
            found.append(Change(kind="moved", rule=rule.name, position=position, layer=layer))
    left = {rule.name for rule in after}
    found += [
        Change(kind="removed", rule=name, position=at, layer=layer)
        for name, (at, _) in old.items()
        if name not in left
    ]
    return found


def _fields(before: Line, after: Line) -> tuple[Field, ...]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return tuple(Field(name, old[name], new[name]) for name in old if old[name] != new[name])
