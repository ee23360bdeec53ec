"""The changes that a person makes to a state by the form of a rewrite: what the fields mean, and what they make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from django.conf import settings
from django.http import QueryDict
from reviewhub_agents import wire
from reviewhub_agents.canonical import BadJson, Tree

from reviewhub.checkpoints.edit import edited
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.tree import State
from reviewhub.core.changes import parse_changes
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.core.errors import Invalid, TooLarge
from reviewhub.core.limits import limits, parse_sent
from reviewhub.web.checkpoints import read_state
from reviewhub.web.field import escaped
from reviewhub.web.forms import words
from reviewhub.web.raw_edit import open_changes, raw_text
from reviewhub.web.rewrite_draft import Draft
from reviewhub.web.state_fields import MOST_ROWS, Group, by_path, groups, read
from reviewhub.web.state_view import Look, look, schema_of

MOST_RAW: Final = 200_000
"""Bytes of a state that a page still offers as one JSON text to edit."""


def taken(given: QueryDict, row: Checkpoint, draft: Draft) -> Draft:
    """The draft with the changes that the form's fields mean; or with errors, and as it was filled in."""
    state = after(row, draft.changes)
    if "raw" in given:
        return _taken_raw(str(given["raw"]), row, state, draft)
    _, parts = shown(row, state, draft)
    removed = frozenset(name[2:] for name in given if name.startswith("r:"))
    found, filled = read(given.dict(), parts, removed)  # type: ignore[arg-type]
    errors = [f"{one.path}: {one.error}" for group in filled for one in group.fields if one.error]
    try:
        found += by_path(given.dict())  # type: ignore[arg-type]
    except ValueError as problem:
        errors.append(str(problem))
    changed = replace(draft, changes=[*draft.changes, *found])
    errors = errors or _refused(row, changed)
    if errors:
        return replace(draft, groups=filled, typed=typed(given)).refused(*errors)
    return changed


def after(row: Checkpoint, changes: list[Tree]) -> State:
    """The checkpoint's state with these changes. Raises Invalid, TooLarge."""
    state = read_state(row)
    if not changes:
        return state
    return edited(state, parse_changes(changes), max_bytes=settings.LIMIT_STATE_BYTES)


def shown(row: Checkpoint, state: State, draft: Draft) -> tuple[Look, list[Group]]:
    """The place of the state that the draft looks at, and its fields."""
    place = look(state, path=draft.path, start=draft.start, schema=schema_of(row), most_rows=MOST_ROWS)
    return place, groups(state, place)


def raw(row: Checkpoint, state: State) -> str:
    """The whole state as JSON to edit, each secret replaced by a word that stands for it."""
    return escaped(raw_text(state.text, write_only_paths(schema_of(row), state.text)))


def is_raw(given: QueryDict) -> bool:
    """Whether the state is edited as one JSON text."""
    return given.get("mode") == "raw"


def pending(text: str) -> list[Tree]:
    """The changes that came with the form. Raises Invalid for what no form of ours sends."""
    if not text:
        return []
    try:
        tree = parse_sent(text)
    except BadJson as error:
        raise Invalid("The list of changes came back damaged; begin again.") from error
    if not isinstance(tree, list):
        raise Invalid("The list of changes came back damaged; begin again.")
    parse_changes(tree)
    return tree


def without(changes: list[Tree], at: int) -> list[Tree]:
    """The changes without one of them."""
    return [one for place, one in enumerate(changes) if place != at]


def typed(given: QueryDict) -> dict[str, str]:
    """What was typed into the fields for a change by path."""
    return {name: str(given.get(name, "")) for name in ("op", "at", "as", "value")}


def rewrite_body(draft: Draft, *, seen: str = "") -> wire.RewriteBody:
    """The rewrite as the API takes it. Raises BadJson."""
    tree: dict[str, Any] = {"changes": draft.changes, "reason": draft.reason, "plan": draft.plan}
    if seen:
        tree["seen"] = seen
    return wire.RewriteBody.from_tree(tree, limits=limits())


def faults(error: BadJson) -> list[str]:
    """What is wrong with it, as sentences for the top of the form."""
    return [f"{one['path'] or '/'}: {one['message']}" for one in error.errors] or [str(error)]


def _taken_raw(text: str, row: Checkpoint, state: State, draft: Draft) -> Draft:
    """The draft with the changes that the edited JSON means; or with errors, and the JSON as it was typed."""
    try:
        found = open_changes(text, state.text, write_only_paths(schema_of(row), state.text))
    except BadJson as problem:
        return replace(draft, raw=text).refused(*faults(problem))
    except ValueError as problem:
        return replace(draft, raw=text).refused(str(problem))
    changed = replace(draft, changes=[*draft.changes, *found])
    errors = _refused(row, changed)
    return replace(draft, raw=text).refused(*errors) if errors else changed


def _refused(row: Checkpoint, draft: Draft) -> list[str]:
    """Why these changes cannot be made; empty when they can."""
    try:
        rewrite_body(replace(draft, reason=draft.reason or "-"))
        after(row, draft.changes)
    except BadJson as problem:
        return faults(problem)
    except (Invalid, TooLarge) as problem:
        return words(problem)
    return []
