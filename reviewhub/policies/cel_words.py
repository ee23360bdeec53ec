"""What CEL's engine says of an expression, in words for people: where it is, and what was found there. Pure."""

from __future__ import annotations

import re

_TYPES = {
    "int64": "a whole number", "int": "a whole number", "uint64": "a whole number", "uint": "a whole number",
    "double": "a number with a fraction", "string": "a text", "bool": "true or false", "list": "a list",
    "map": "an object", "null_type": "null", "null": "null", "timestamp": "a time", "duration": "a length of time",
    "dyn": "a value",
}  # fmt: skip
_HINTS = {"=": "the same is written ==", "&": "and is written &&", "|": "or is written ||", "and": "it is written &&",
          "or": "it is written ||", "not": "it is written !"}  # fmt: skip
_PLACE = re.compile(r"ERROR: <input>:\d+:(\d+): (.*)")
_FOUND = re.compile(
    r"(?:mismatched input|extraneous input|token recognition error at:|no viable alternative at input)"
    r" '(.*?)'(?= expecting|$)"
)
_MISSING = re.compile(r"missing (.+?) at '(.*)'")
_NO_SUCH = re.compile(r"undeclared reference to '([^']*)'")
_CALLED = re.compile(r"^(?:\((?P<of>\w+)\)\.)?(?P<name>[^(]+?)(?:\((?P<given>[^)]*)\))?$")
_NAMED = {"<jump_condition>": "it is not true or false", "!_": "it is not true or false",
          "_&&_": "a side of “&&” is not true or false", "_||_": "a side of “||” is not true or false",
          "<iter_range>": "it is no list"}  # fmt: skip


def syntax_words(error: str) -> str:
    """Why an expression cannot be compiled, to follow “The expression”: the place, and what was found there."""
    match = _PLACE.search(error)
    if match is None:
        return f"cannot be read: {bare(error)}"
    at, said = match[1], bare(match[2])
    if none := _NO_SUCH.match(said):
        return f"names “{none[1]}” at character {at}, which it does not know; an argument is args.NAME"
    if wrong := type_words(said):
        return f"is wrong at character {at}: {wrong}"
    said = said.removeprefix("Syntax error: ")
    if missing := _MISSING.match(said):
        return f"cannot be read at character {at}: {_here(missing[2])}, and {missing[1].strip(chr(39))} is missing"
    if found := _FOUND.match(said):
        hint = _HINTS.get(found[1].strip())
        return f"cannot be read at character {at}: {_here(found[1])}{f'; {hint}' if hint else ''}"
    return f"cannot be read at character {at}: {said}"


def unread_words(text: str, at: int) -> str:
    """As `syntax_words`, of a character that no expression has at this place."""
    hint = _HINTS.get(text[at])
    return f"has “{text[at]}” at character {at + 1}, which is not taken{f'; {hint}' if hint else ''}"


def type_words(said: str) -> str:
    """What an operator or a function was given and cannot take, in words; empty for another fault."""
    if "overload" in said:
        called = said.replace("' applied to '", "").rstrip("'")
        called = re.sub(r"^.*?overloads? (?:found : |for ')", "", called, count=1)
        return _NAMED.get(called) or _cannot_take(called)
    if said.startswith("Invalid container type"):
        return "what has no parts is asked for one"
    if said.startswith("Applying SELECT"):
        return "what is no object is asked for a name inside"
    return "a place in a list is a whole number" if said.startswith("Index error: expected") else ""


def bare(error: str) -> str:
    """The first line of what the engine says, without its codes."""
    text = re.sub(r"^[A-Z_]+( [A-Z_]+)?: ", "", error.splitlines()[0] if error else "")
    return re.sub(r" \[[A-Z_]+\]$", "", text)[:200]


def _here(found: str) -> str:
    return "it ends there" if found == "<EOF>" else f"“{found.strip()}” was found"


def _cannot_take(called: str) -> str:
    match = _CALLED.match(called)
    if match is None:
        return f"types do not fit ({called})"
    names = [match["of"] or "", *(match["given"] or "").split(",")]
    given = [_TYPES.get(name.strip(), name.strip()) for name in names if name.strip()]
    operator = match["name"].strip("_@")
    return f"“{operator}” cannot take {' and '.join(given) or 'that'}"
