"""What the agent said about a call (reason, evidence, checks, labels, facts) and how it wished people to be asked.

One text; claims, no truths.
"""

from __future__ import annotations

from typing import Any, TypedDict

from reviewhub_agents import canonical, wire

CLAIMS = ("reason", "evidence", "checks", "facts", "labels")
WISHES = "wishes"


class Wishes(TypedDict):
    """How the agent wished people to be asked; policy lets it narrow what it says itself, and no more."""

    wished_decisions: tuple[str, ...] | None
    wished_deadline_seconds: int | None


def claims_text(call: wire.ToolCallIn) -> str:
    """What the agent said beside tool and arguments, as far as it said something, as canonical JSON text."""
    given, wished = call.to_tree(), wishes(call)
    said = {name: given[name] for name in CLAIMS if given.get(name)}
    asked: dict[str, Any] = {}
    if wished["wished_decisions"] is not None:
        asked["decisions"] = list(wished["wished_decisions"])
    if wished["wished_deadline_seconds"] is not None:
        asked["deadline_seconds"] = wished["wished_deadline_seconds"]
    return canonical.dumps({**said, WISHES: asked} if asked else said)


def wishes(call: wire.ToolCallIn) -> Wishes:
    """How the agent wishes people to be asked about a call that it proposes."""
    decisions, deadline = call.allowed_decisions, call.deadline
    return Wishes(
        wished_decisions=None if decisions is None else tuple(kind.value for kind in decisions),
        wished_deadline_seconds=max(1, int(deadline.total_seconds())) if deadline else None,
    )


def wishes_of(claims: str) -> Wishes:
    """The same of a call that was proposed before: an edit, or a later look of policy, does not lose it."""
    tree = canonical.reread(claims)
    said = canonical.to_python(tree.get(WISHES, {})) if isinstance(tree, dict) else {}
    decisions = said.get("decisions")
    return Wishes(
        wished_decisions=None if decisions is None else tuple(decisions),
        wished_deadline_seconds=said.get("deadline_seconds"),
    )


def facts_of(claims: str) -> canonical.Tree | None:
    """The facts that the agent declared (an order's version, say), or None."""
    tree = canonical.reread(claims)
    return tree.get("facts") if isinstance(tree, dict) else None


def failed_checks(claims: str) -> tuple[str, ...]:
    """The names of checks that the agent itself reports as failed, or as not made."""
    tree = canonical.reread(claims)
    checks = tree.get("checks") if isinstance(tree, dict) else None
    found: list[str] = []
    for check in checks if isinstance(checks, list) else []:
        if isinstance(check, dict) and check.get("status") in ("failed", "error", "timed_out"):
            found.append(str(check.get("name", "")))
    return tuple(found)
