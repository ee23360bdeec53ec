"""What a tool may be called."""

from __future__ import annotations

import unicodedata

from reviewhub_agents import canonical

from reviewhub.tools.acts import PREFIX, act_of

MAX_NAME = 200


def name_fault(name: str) -> str | None:
    """Why `name` cannot be the name of a tool, or None.

    Names with invisible or look-alike characters are taken (a provider may use any script) and shown as such; only
    what no surface can show at all is refused.
    """
    if not name:
        return "is empty"
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters; the limit is {MAX_NAME}"
    for position, char in enumerate(name):
        if unicodedata.category(char) in ("Cc", "Cs"):
            return f"holds the control character U+{ord(char):04X} at position {position}"
    if name.startswith(PREFIX) and act_of(name) is None:
        return f"begins with {PREFIX}, which only the server's own names do"
    return None


def schema_fingerprint(*, name: str, schema: str, effect: str) -> str:
    """`sha256:<hex>` over what decides what a call of a tool can do. Words, time limits and results are not in it."""
    return canonical.body_digest({"name": name, "schema": schema, "effect": effect})
