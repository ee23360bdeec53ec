"""Where in a policy something is wrong, in words. Pure."""

from __future__ import annotations

from collections.abc import Callable

WORDS = {"rules": "Rule", "guardrails": "Guardrail", "limits": "Limit", "waiting": "Waiting limit"}
LINES = {"when": "condition", "stages": "stage", "escalation": "step", "locked_fields": "locked field"}


def place_words(path: str, name_of: Callable[[str, int], str]) -> str:
    """`/rules/2/when/0/value` as `Rule 3 (Wires), condition 1 value: `; empty for what is in no rule.

    Args:
        name_of: the name of a rule by layer and index, empty where it has none.
    """
    parts = path.split("/")
    if len(parts) < 3 or parts[1] not in WORDS or not parts[2].isdecimal():
        return ""
    at, word = int(parts[2]), WORDS[parts[1]]
    name = name_of(parts[1], at)
    name = f" ({name})" if name and name != f"{word} {at + 1}" else ""
    if len(parts) > 4 and parts[3] in LINES and parts[4].isdecimal():
        parts[3:5] = [LINES[parts[3]], str(int(parts[4]) + 1)]
    rest = f", {' '.join(parts[3:]).replace('_seconds', '').replace('_', ' ')}" if len(parts) > 3 else ""
    return f"{word} {at + 1}{name}{rest}: "
