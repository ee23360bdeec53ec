"""What is wrong with a policy, each with the field of the editor that has to be mended."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reviewhub.core.errors import Invalid, ReviewHubError
from reviewhub.policies.places import place_words
from reviewhub.policies.rules import Policy
from reviewhub.web.forms import words

LETTERS = {"rules": "r", "guardrails": "g", "limits": "l", "waiting": "w"}
CARDS = {"rules": "rule", "guardrails": "guardrail", "limits": "limit", "waiting": "waiting"}
_LAYERS = {letter: layer for layer, letter in LETTERS.items()}
_SENT = re.compile(r"/([rglw])(\d{1,3})-(.*)")
_PLACE = re.compile(r"/(rules|guardrails|limits|waiting)/(\d{1,3})(?:/(.*))?")
_FIELDS = {
    "deadline_seconds": "deadline", "remind_seconds": "remind", "window_seconds": "window", "locked_fields": "locked",
    "sign_in_minutes": "sign_in", "typed_confirmation": "typed", "allowed_decisions": "allowed",
}  # fmt: skip
_CONDITION = {"path": "path", "test": "test"}
_STEP = {"team": "to", "managers": "to"}


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong. `words` say where, too; `field` is the id of the field, or of the rule's card, `card`
    that of the card alone; both are empty for what is about no rule."""

    words: str
    message: str
    field: str = ""
    card: str = ""


def faults(error: Invalid, name_of: Callable[[str, int], str]) -> list[Fault]:
    """The faults of a policy, in their order.

    Args:
        name_of: the name of a rule by layer and index, empty where it has none.
    """
    if not error.errors:
        return [Fault(error.message, error.message)]
    return [_fault(each["path"], each["message"], name_of) for each in error.errors]


def refusal(error: ReviewHubError, policy: Policy, mend: str) -> dict[str, Any]:
    """What a page says of a policy that was refused: where its rules are to blame, with the way to them.

    Args:
        mend: the address of the editor with this policy, below the policy's own.
    """
    if isinstance(error, Invalid) and any(each["path"].count("/") > 1 for each in error.errors):
        return {"faults": faults(error, names_in(policy)), "mend": mend}
    return {"errors": words(error)}


def names_in(policy: Policy) -> Callable[[str, int], str]:
    """The names of a policy's rules, as `faults` asks for them."""
    lines = dict(policy.lines)

    def name_of(layer: str, at: int) -> str:
        return lines[layer][at].name if at < len(lines[layer]) else ""

    return name_of


def at_field(found: Sequence[Fault]) -> dict[str, str]:
    """What to say at each field; several faults of one in one text."""
    said: dict[str, list[str]] = {}
    for fault in found:
        if fault.field:
            said.setdefault(fault.field, []).append(fault.message)
    return {field: " ".join(dict.fromkeys(messages)) for field, messages in said.items()}


def _fault(path: str, message: str, name_of: Callable[[str, int], str]) -> Fault:
    if sent := _SENT.fullmatch(path):
        layer, at = _LAYERS[sent[1]], int(sent[2])
        where = place_words(f"/{layer}/{at}/{sent[3]}", name_of)
        return Fault(f"{where}{message}", message, path[1:], f"{CARDS[layer]}-{at}")
    place = _PLACE.fullmatch(path)
    if place is None:
        name = path.removeprefix("/")
        field = name if name in ("note", "try-agent", "try-arguments") else ""
        return Fault(message, message, field)
    layer, at = place[1], int(place[2])
    card = f"{CARDS[layer]}-{at}"
    inside = _field((place[3] or "").split("/"))
    field = f"{LETTERS[layer]}{at}-{inside}" if inside else card
    return Fault(f"{place_words(path, name_of)}{message}", message, field, card)


def _field(parts: Sequence[str]) -> str:
    """The field for a place within a rule; empty when it is about the whole rule."""
    name, at, inner = (*parts, "", "")[:3]
    if name == "when" and at.isdecimal():
        return f"c{at}-{_CONDITION.get(inner, 'value')}"
    if name == "stages" and at.isdecimal():
        of = "approvals" if inner == "approvals" else "team"
        return of if at == "0" else f"s{int(at) - 1}-{of}"
    if name == "escalation" and at.isdecimal():
        return f"e{at}-{_STEP.get(inner, 'after')}"
    return _FIELDS.get(name, name)
