"""A form for a tool call's arguments, made from the tool's JSON Schema, and the changes that such a form means.

The schema is hostile input: it only ever decides which kind of control a field gets. What may be written is checked
by `core.schemas` when the decision arrives. A field that comes back as it was shown is no change, so values that
nobody touched keep their bytes; numbers travel as the text of their literal and never through a float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.core.display import segments
from reviewhub.core.display.arguments import pointer
from reviewhub.core.display.masking import replaced, secret_values
from reviewhub.core.display.secrets import is_secret_key
from reviewhub.core.display.segments import Segment
from reviewhub.core.limits import parse_sent

MOST_FIELDS = 200
LONG = 80  # characters from which a text gets a box of several lines
MOST_OPTIONS = 100
ABSENT = "(not given)"
KINDS = {bool: "true or false", Number: "number", str: "text", list: "list", dict: "object"}
TYPES = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "null": "nothing",
    "string": "text",
}
"""JSON Schema's names of types, as the pages call them; `number` and `object` are the same word in both."""


@dataclass(frozen=True)
class Field:
    """One value that can be edited. `control` is text, long, number, choice, switch, json, or locked."""

    path: str
    name: tuple[Segment, ...]
    key: str
    control: str
    value: str
    shown: str = ""
    describes: str = ""
    options: list[str] = field(default_factory=list)
    is_present: bool = True
    error: str = ""
    was: tuple[Segment, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether the form holds something else than the call."""
        return bool(self.was) or bool(self.error)

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Each option as JSON, and as people read it: a text without quotes where that can mean nothing else."""
        return [(option, _bare(option)) for option in self.options]

    @property
    def textarea(self) -> str:
        """The value as the content of a textarea: HTML drops the first line break, so that of the value is kept."""
        return f"\n{self.value}"


def fields(schema_text: str, arguments_text: str, secret_paths: frozenset[str] = frozenset()) -> list[Field]:
    """One field for each top-level argument, and for each that the schema knows and the call leaves out.

    Values inside lists and objects are edited as JSON text. Secrets are locked: their bytes never reach a browser.
    """
    tree = canonical.reread(arguments_text)
    if not isinstance(tree, dict):
        return []
    schema = _schema(schema_text)
    known = schema.get("properties") if isinstance(schema.get("properties"), dict) else {}
    assert isinstance(known, dict)
    keys = [*tree, *(key for key in known if key not in tree)][:MOST_FIELDS]
    return [_field(key, tree, known.get(key), secret_paths) for key in keys]


def changes(
    posted: Mapping[str, str],
    schema_text: str,
    arguments_text: str,
    secret_paths: frozenset[str] = frozenset(),
) -> tuple[list[dict[str, Tree]], list[Field]]:
    """The changes that a posted form means, and the fields as they were filled in, with their errors.

    A field is called `f:<JSON pointer>` in the form; beside it stands `w:<JSON pointer>`, what was shown.
    """
    found: list[dict[str, Tree]] = []
    filled: list[Field] = []
    for one in fields(schema_text, arguments_text, secret_paths):
        given = posted.get(f"f:{one.path}")
        if one.control == "switch" and given is None and f"w:{one.path}" in posted:
            given = "false"
        if one.control == "locked" or given is None or is_same(given, one):
            filled.append(one)
            continue
        given = given.replace("\r\n", "\n")
        try:
            found.append({"op": "set", "path": one.path, "value": value_in(given, one)})
            error = ""
        except ValueError as problem:
            error = str(problem)
        was = segments.split(one.shown or one.value or ABSENT)
        filled.append(
            Field(
                path=one.path,
                name=one.name,
                key=one.key,
                control=one.control,
                value=given,
                shown=one.shown,
                describes=one.describes,
                options=one.options,
                is_present=one.is_present,
                error=error,
                was=was,
            )
        )
    return found, filled


def raw_text(arguments_text: str, secret_paths: frozenset[str] = frozenset()) -> str:
    """The arguments as indented JSON to edit; every secret is replaced by a word that stands for it."""
    tree = canonical.reread(arguments_text)
    words = {path: _word(path) for path in secret_values(tree, secret_paths)}
    return pretty(replaced(tree, words))


def escaped(text: str) -> str:
    """JSON text with every hidden or look-alike character as its escape, so that a form control can show it.

    A text box draws bidi controls; the escape is the same JSON value and moves nothing.
    """
    if text.isascii():
        return text
    return "".join(
        _escape(piece.source) if piece.kind in ("control", "foreign") else piece.source
        for piece in segments.split(text, mask=False)
    )


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def raw_changes(
    raw: str, arguments_text: str, secret_paths: frozenset[str] = frozenset()
) -> list[dict[str, Tree]]:
    """The changes between the call's arguments and an edited JSON text: as small as objects allow.

    Computed here, so that what was not touched keeps its bytes. Raises `canonical.BadJson`, ValueError.
    """
    before = canonical.reread(arguments_text)
    words = {_word(path): one.value for path, one in secret_values(before, secret_paths).items()}
    after = _restored(parse_sent(raw), words)
    if not isinstance(after, dict) or not isinstance(before, dict):
        raise ValueError("The arguments are one JSON object.")
    found: list[dict[str, Tree]] = []
    todo: list[tuple[str, dict[str, Tree], dict[str, Tree]]] = [("", before, after)]
    while todo:
        path, old, new = todo.pop()
        found.extend({"op": "remove", "path": pointer(path, key)} for key in old if key not in new)
        for key, value in new.items():
            here = pointer(path, key)
            if key not in old:
                found.append({"op": "set", "path": here, "value": value})
                continue
            was = old[key]
            if isinstance(was, dict) and isinstance(value, dict):
                todo.append((here, was, value))
            elif canonical.dumps(was) != canonical.dumps(value):
                found.append({"op": "set", "path": here, "value": value})
    return found


def json_kind(text: str) -> str:
    """What a text is besides text: `a JSON number` and so on, `` for text that is nothing else."""
    try:
        tree = parse_sent(text)
    except canonical.BadJson:
        return ""
    if isinstance(tree, str):
        return ""
    kinds = {dict: "a JSON object", list: "a JSON list", Number: "a JSON number", bool: "a JSON boolean"}
    return kinds.get(type(tree), "JSON null")


def pretty(tree: Tree, indent: int = 0) -> str:
    """Indented JSON with every number as it was written; as deep as `canonical` reads."""
    pad, inner = "  " * indent, "  " * (indent + 1)
    if isinstance(tree, dict) and tree:
        lines = [f"{inner}{canonical.dumps(key)}: {pretty(value, indent + 1)}" for key, value in tree.items()]
        return "{\n" + ",\n".join(lines) + f"\n{pad}}}"
    if isinstance(tree, list) and tree:
        return "[\n" + ",\n".join(f"{inner}{pretty(value, indent + 1)}" for value in tree) + f"\n{pad}]"
    return canonical.dumps(tree)


def _word(path: str) -> str:
    return f"•••• secret at {path}, kept as it is ••••"


def _restored(tree: Tree, words: Mapping[str, Tree]) -> Tree:
    if isinstance(tree, dict):
        return {key: _restored(value, words) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_restored(value, words) for value in tree]
    return words.get(tree, tree) if isinstance(tree, str) else tree


def is_same(given: str, one: Field) -> bool:
    """Whether the browser sent back what it was shown; it writes every line break as CR LF."""
    return given.replace("\r\n", "\n").replace("\r", "\n") == one.value.replace("\r\n", "\n").replace(
        "\r", "\n"
    )


def value_in(given: str, one: Field) -> Tree:
    """The value that a control of a form means. Raises ValueError with a sentence for what is none."""
    if one.control == "number":
        try:
            return Number(given.strip())
        except ValueError as error:
            raise ValueError("Write a number, such as 12.50.") from error
    if one.control == "switch":
        return given == "true"
    if one.control in ("json", "choice"):
        try:
            return parse_sent(given)
        except canonical.BadJson as error:
            raise ValueError(f"This is not JSON: {error.errors[0]['message']}") from error
    return given


def _field(key: str, tree: dict[str, Tree], rules: Any, secret_paths: frozenset[str]) -> Field:
    path = pointer("", key)
    name = segments.split(key, mask=False)
    rules = rules if isinstance(rules, dict) else {}
    is_present = key in tree
    value = tree.get(key)
    describes = _describes(rules, value, is_present=is_present)
    if _holds_secret(path, key, value, secret_paths):
        return Field(path, name, key, "locked", "", "••••••••", "secret", is_present=is_present)
    if options := _options(rules, value, is_present=is_present):
        return Field(
            path,
            name,
            key,
            "choice",
            canonical.dumps(value) if is_present else "",
            "",
            describes,
            options,
            is_present,
        )
    if not is_present:
        control = {"boolean": "choice", "number": "number", "integer": "number", "string": "text"}
        kind = control.get(str(rules.get("type")), "json")
        options = ["false", "true"] if kind == "choice" else []
        return Field(path, name, key, kind, "", "", describes, options, is_present=False)
    if isinstance(value, bool):
        return Field(path, name, key, "switch", "true" if value else "false", "", describes)
    if isinstance(value, Number):
        return Field(path, name, key, "number", value.literal, "", describes)
    if isinstance(value, str):
        # A text that a form control would change by itself (a lone CR, a control character) is edited as JSON.
        if survives(value):
            is_long = len(value) > LONG or "\n" in value
            return Field(path, name, key, "long" if is_long else "text", value, "", describes)
        said = f"{describes}, as JSON: it holds hidden or look-alike characters"
        return Field(path, name, key, "json", escaped(canonical.dumps(value)), "", said)
    return Field(path, name, key, "json", escaped(canonical.dumps(value)), "", describes)


def _holds_secret(path: str, key: str, value: Tree, secret_paths: frozenset[str]) -> bool:
    is_marked = any(one == path or one.startswith(f"{path}/") for one in secret_paths)
    return is_secret_key(key) or is_marked or bool(secret_values({key: value}, frozenset()))


def survives(text: str) -> bool:
    """Whether a browser's form control gives this text back as it is and shows all of it."""
    return all(piece.kind not in ("control", "foreign") for piece in segments.split(text, mask=False))


def _options(rules: dict[str, Any], value: Tree, *, is_present: bool) -> list[str]:
    given = rules.get("enum")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_OPTIONS:
        return []
    options = [canonical.dumps(one) for one in given]
    if is_present and canonical.dumps(value) not in options:
        options.insert(0, canonical.dumps(value))
    return options


def _bare(option: str) -> str:
    """What is inside of a JSON text that begins with a letter and is no other JSON value; else `option` itself."""
    inside = option[1:-1]
    is_word = option.startswith('"') and inside[:1].isalpha() and inside not in ("true", "false", "null")
    return inside if is_word and "\\" not in inside and inside == inside.strip() else option


def _describes(rules: dict[str, Any], value: Tree, *, is_present: bool) -> str:
    """The type and bounds in words."""
    named = rules.get("type")
    kind = TYPES.get(named, named) if isinstance(named, str) else KINDS.get(type(value), "anything")
    bounds = [
        f"{word} {_literal(rules[name])}"
        for name, word in (
            ("minimum", "min"),
            ("maximum", "max"),
            ("minLength", "at least"),
            ("maxLength", "max"),
            ("format", "format"),
        )
        if isinstance(rules.get(name), (str, Number))
    ]
    said = ", ".join([str(kind)[:40], *bounds])
    return said if is_present else f"{said}, {ABSENT}"


def _literal(value: str | Number) -> str:
    return value.literal if isinstance(value, Number) else value[:40]


def _schema(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        tree = canonical.reread(text)
    except canonical.BadJson:
        # Stored schemas were read once already; one that cannot be read any more only costs the nicer form.
        return {}
    return tree if isinstance(tree, dict) else {}
