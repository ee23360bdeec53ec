"""The form of an answer as it came in: what was typed, and the body of the decision that it means."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from reviewhub_agents import canonical
from reviewhub_agents.canonical import BadJson

from reviewhub.core.errors import Invalid
from reviewhub.core.limits import parse_sent
from reviewhub.reviews.assurance import check_words
from reviewhub.web.evidence import Evidence
from reviewhub.web.field import Field
from reviewhub.web.form_changes import changes
from reviewhub.web.forms import words
from reviewhub.web.raw_edit import json_kind, raw_changes
from reviewhub.web.remembering import read as read_remember
from reviewhub.web.review import Typed


class NotSent(Exception):
    """The form cannot be sent as it is; `errors` say why."""

    def __init__(self, *errors: str) -> None:
        super().__init__(*errors)
        self.errors = list(errors)


def read(given: QueryDict, shown: Evidence) -> tuple[Typed, dict[str, Any]]:
    """The form as it was filled in, and the body of the decision that it means.

    Args:
        shown: what the page showed when it was filled in.
    """
    # Both buttons at once are no answer: which of them would count?
    types = given.getlist("type")
    mode = types[0] if len(types) == 1 else ""
    tree: dict[str, Any] = {
        "type": mode,
        "version": canonical.Number(_digits(given.get("version", ""))),
        "digest": given.get("digest", ""),
    }
    for name in ("message", "note", "confirm", *(["reason"] if mode == "reject" else [])):
        if text := given.get(name, "").replace("\r\n", "\n").strip():
            tree[name] = text
    remembered = read_remember(given)
    if mode == "approve" and remembered.is_asked:
        tree["remember"] = remembered.tree()
    errors: list[str] = []
    filled: list[Field] = []
    as_json = "raw" in given
    if mode == "edit":
        try:
            if as_json:
                tree["changes"] = raw_changes(given.get("raw", ""), shown.text, shown.secret_paths)
            else:
                schema = shown.tool.schema if shown.tool else ""
                posted = {name: value for name, value in given.items() if isinstance(value, str)}
                locked = shown.requirement.requirement.locked_fields
                tree["changes"], filled = changes(posted, schema, shown.text, shown.secret_paths, locked)
        except ValueError as problem:
            errors.append(str(problem))
    value, reads_as = given.get("value", ""), ""
    if mode in ("respond", "happened") and (mode == "respond" or value.strip()):
        is_json = bool(given.get("value_json")) or given.get("value_as") == "json"
        reads_as = "" if is_json or given.get("value_as") == "text" else json_kind(value)
        if reads_as:
            errors.append(f"This can be read as {reads_as}. Say below what the agent gets.")
        try:
            tree["value"] = _answer(value, is_json=is_json)
        except BadJson as problem:
            errors.append(f"The answer is not JSON: {problem.errors[0]['message']}")
    typed = Typed(
        mode=mode,
        message=given.get("message", ""),
        note=given.get("note", ""),
        value=value,
        value_as=given.get("value_as", ""),
        reads_as=reads_as or (json_kind(value) if given.get("value_as") else ""),
        raw=given.get("raw", ""),
        confirm=given.get("confirm", ""),
        reason=given.get("reason", ""),
        seen=bool(given.get("seen")),
        is_json=bool(given.get("value_json")),
        fields=filled,
        errors=errors,
        as_json=as_json,
        remember=remembered,
    )
    return typed, tree


def check(given: QueryDict, shown: Evidence, typed: Typed) -> None:
    """What the page itself asks for, before the decision is sent. Raises NotSent."""
    errors = [*typed.errors, *(f"{one.key}: {one.error}" for one in typed.fields if one.error)]
    try:
        check_words(typed.mode, typed.message or typed.reason)
    except Invalid as missing:
        errors.extend(words(missing))
    if typed.mode == "edit" and not errors and not typed.as_json and not typed.changed:
        errors.append("Nothing is changed. Change a value, or approve.")
    if typed.mode == "approve" and shown.arguments.needs_reading and not given.get("seen"):
        errors.append("Open the parts that are not shown first, or say that you have read them.")
    if errors:
        raise NotSent(*errors)


def _answer(text: str, *, is_json: bool) -> Any:
    """The value of an answer: the text itself, or the JSON that it says (false, 0, "" and null are answers)."""
    return parse_sent(text) if is_json else text.replace("\r\n", "\n")


def _digits(text: str) -> str:
    return (
        text if text.isascii() and text.isdecimal() and len(text) < 10 and not text.startswith("0") else "0"
    )
