"""All that is wrong with a policy in one answer, also where a fault of its form keeps it from being read. Pure.

A policy whose text has faults is read again with what is wrong taken out, so that what is independent of it is found.
"""

from __future__ import annotations

from typing import Any

from reviewhub_agents import canonical

from reviewhub.core.errors import Invalid
from reviewhub.policies.model import Policy
from reviewhub.policies.reading import parse_policy

Error = dict[str, str]
MOST_ROUNDS = 5
_EMPTY: dict[str, dict[str, Any]] = {
    "guardrails": {"tool": "none", "action": "deny"},
    "rules": {"tool": "none", "action": "deny"},
    "limits": {"tool": "none", "most": 0, "window_seconds": 1},
    "waiting": {"most": 0},
}
"""Lines that ask for nothing, in the place of one that cannot be read."""
_NEEDED = ("name", "tool", "action", "most", "window_seconds", "then", "")


def read_as_far_as_possible(text: str) -> tuple[Policy | None, list[Error]]:
    """The policy with what is wrong left out, each line where it stood, and the faults; None where too little is left.

    A policy that says places is read as a whole or not at all: its faults count lines as they are written, and what is
    found later counts them by place.
    """
    try:
        return parse_policy(text), []
    except Invalid as error:
        errors = list(error.errors)
    try:
        tree = canonical.to_python(canonical.parse(text))
    except canonical.BadJson:
        return None, errors
    if not isinstance(tree, dict) or "place" in text:
        return None, errors
    newest = errors
    for _ in range(MOST_ROUNDS):
        for one in newest:
            _take_out(tree, one["path"].split("/")[1:])
        try:
            return parse_policy(canonical.dumps(tree)), errors
        except Invalid as error:
            told = {one["path"] for one in errors}
            newest = error.errors
            errors += [one for one in newest if one["path"] not in told]
    return None, errors


def _take_out(tree: dict[str, Any], path: list[str]) -> None:
    """Takes what a fault is about out of the text: a field, the value of a condition, or all that a line says."""
    layer, at, field, inner, of = (*path, "", "", "", "", "")[:5]
    lines = tree.get(layer)
    if layer not in _EMPTY or not isinstance(lines, list) or not at.isdecimal() or int(at) >= len(lines):
        tree.pop(layer, None)
        return
    line = lines[int(at)]
    if not isinstance(line, dict) or field in _NEEDED or field not in line:
        lines[int(at)] = {"name": f"line {layer} {at}", **_EMPTY[layer]}
    elif field == "when" and inner.isdecimal() and of not in ("path", "test") and _path(line, int(inner)):
        line["when"][int(inner)] = {"path": _path(line, int(inner)), "test": "is_there"}
    else:
        del line[field]


def _path(line: dict[str, Any], at: int) -> Any:
    when = line["when"]
    given = when[at] if isinstance(when, list) and at < len(when) else None
    return given.get("path") if isinstance(given, dict) else None
