"""What the agent said about a call (reason, evidence, checks, labels, facts), as one text. Claims, no truths."""

from __future__ import annotations

from reviewhub_agents import canonical, wire

CLAIMS = ("reason", "evidence", "checks", "facts", "labels")


def claims_text(call: wire.ToolCallIn) -> str:
    """What the agent said beside tool and arguments, as far as it said something, as canonical JSON text."""
    given = call.to_tree()
    return canonical.dumps({name: given[name] for name in CLAIMS if given.get(name)})


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
