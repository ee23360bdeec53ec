"""The changes to a call's arguments that a posted form means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from reviewhub_agents.canonical import Tree

from reviewhub.core.display import segments
from reviewhub.web.field import Field, is_same, value_in
from reviewhub.web.schema_fields import ABSENT, fields


def changes(
    posted: Mapping[str, str],
    schema_text: str,
    arguments_text: str,
    secret_paths: frozenset[str] = frozenset(),
    locked: Collection[str] = (),
) -> tuple[list[dict[str, Tree]], list[Field]]:
    """The changes that a posted form means, and the fields as they were filled in, with their errors.

    A field is called `f:<JSON pointer>` in the form; beside it stands `w:<JSON pointer>`, so that a switch which is off
    differs from one that the form did not have; `x:<JSON pointer>` takes an item out of its list. First values are set,
    then items added, then taken out from the last one on, so that no change moves what another one means.
    """
    shown = fields(schema_text, arguments_text, secret_paths, locked)
    out = [one.item for one in shown if one.item and posted.get(f"x:{one.item}")]
    out = [path for path in out if not any(path.startswith(f"{other}/") for other in out)]
    sets: list[dict[str, Tree]] = []
    adds: list[dict[str, Tree]] = []
    filled: list[Field] = []
    for one in shown:
        if any(f"{one.path}/".startswith(f"{path}/") for path in out):
            filled.append(replace(one, is_out=one.item in out))
            continue
        given = _given(posted, one)
        if given is None or is_same(given, one):
            filled.append(one)
            continue
        error = ""
        try:
            change = {"op": "insert" if one.adds else "set", "path": one.path, "value": value_in(given, one)}
            (adds if one.adds else sets).append(change)
        except ValueError as problem:
            error = str(problem)
        was = segments.split(one.shown or one.value or ABSENT)
        filled.append(replace(one, value=given, error=error, was=was))
    gone: list[dict[str, Tree]] = [{"op": "remove", "path": path} for path in reversed(out)]
    return [*sets, *adds, *gone], filled


def _given(posted: Mapping[str, str], one: Field) -> str | None:
    """What the form holds for a field; None when it holds nothing for it."""
    given = posted.get(f"f:{one.path}")
    if one.control == "switch" and given is None and f"w:{one.path}" in posted:
        given = "false"
    return None if one.control == "locked" or given is None else given.replace("\r\n", "\n")
