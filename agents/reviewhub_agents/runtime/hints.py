"""What changed from one state to the next, by the texts of their fields: what is equal is not sent again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviewhub_agents import canonical

from .state import StateText


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The state that stands at the head: the texts of its fields, and its hash as the hub told it."""

    fields: Mapping[str, str]
    hash: str


def saved(state: str, hash_: str) -> Saved | None:
    """What to remember of a state that was saved; nothing where its fields are not known."""
    return Saved(fields=state.fields, hash=hash_) if isinstance(state, StateText) and state.fields else None


def hints(before: Mapping[str, str], state: str) -> dict[str, Any]:
    """What changed, by the texts of the fields; nothing when these are not known."""
    new = state.fields if isinstance(state, StateText) else {}
    if not new:
        return {}
    unchanged, append, changed = [], {}, {}
    for name, text in new.items():
        known = before.get(name)
        if known == text:
            unchanged.append(name)
        elif known is not None and (more := _added(known, text)) is not None:
            append[name] = canonical.reread(more)
        else:
            changed[name] = canonical.reread(text)
    return {"unchanged": unchanged, "append": append, "changed": changed}


def _added(before: str, text: str) -> str | None:
    """The items that a list has behind those of a shorter one, as the text of a list; None where it is no such list."""
    if before == "[]" or not before.startswith("[") or not text.startswith(f"{before[:-1]},"):
        return None
    return f"[{text[len(before) :]}"
