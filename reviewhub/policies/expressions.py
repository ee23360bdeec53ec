"""Conditions in CEL, the Common Expression Language: compiled once, run without trust. Pure.

A timer cannot stop an expression, so what it may cost is bounded before it runs: its length, one macro at most (its
body runs once for each element, and may walk a whole value each time), patterns in plain sight only, and the size of
the arguments. The engine's own bounds (10,000 iterations, 32 levels, a linear-time regex) stand behind these, and an
answer that took too long all the same is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from time import thread_time
from typing import Any, Final

from cel_expr_python import cel

from reviewhub.policies.arguments import DOUBLE_STEPS, Arguments, Inexact
from reviewhub.policies.cel_words import bare, syntax_words, type_words, unread_words
from reviewhub.policies.conditions import TOO_SLOW, Tested
from reviewhub.policies.expression_parts import parts
from reviewhub.policies.model import MAX_EXPRESSION

MOST_BYTES: Final = 8192
MOST_PATTERN: Final = 100
MOST_WORK: Final = 30_000
"""Elements multiplied with the parts of an expression that has a macro."""
MOST_WALKS: Final = 1_000_000
"""The square of the elements multiplied with the parts, where a macro compares values that may be lists or objects."""
MOST_TEXT_WORK: Final = 300_000
"""Elements multiplied with bytes, where a macro works on texts."""
MACROS: Final = frozenset({"all", "exists", "exists_one", "map", "filter"})
TEXT_FUNCTIONS: Final = frozenset(
    {"contains", "startsWith", "endsWith", "matches", "size", "string", "bytes"}
)
VARIABLES: Final = {
    "args": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "tool": cel.Type.STRING,
    "effect": cel.Type.STRING,
    "agent": cel.Type.STRING,
    "team": cel.Type.STRING,
    "environment": cel.Type.STRING,
    "plan_step": cel.Type.STRING,
}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?u?)
    |(?P<comment>//)
    |(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE,
)


class BadExpression(ValueError):
    """An expression that is not taken; the text says why."""


@dataclass(frozen=True)
class Compiled:
    """An expression ready to run. `paths` are the arguments that it names, as keys from the outside in."""

    program: Any
    paths: tuple[tuple[str, ...], ...]
    parts: int
    has_macro: bool
    walks_values: bool
    works_on_texts: bool
    makes_doubles: bool


@lru_cache(maxsize=2000)
def compiled(text: str) -> Compiled:
    """Checks and compiles an expression.

    Raises:
        BadExpression: it is too long, is none, is not about true or false, or may cost too much.
    """
    if len(text) > MAX_EXPRESSION:
        raise BadExpression(f"has {len(text)} characters; the limit is {MAX_EXPRESSION}")
    tokens = _tokens(text)
    macros = [word for word in _called(tokens) if word in MACROS]
    if len(macros) > 1:
        raise BadExpression(
            f"uses {macros[0]} and {macros[1]}; one macro is the limit, since macros multiply"
        )
    _check_patterns(tokens)
    _check_numbers(tokens)
    try:
        program = _environment().compile(text)
    except RuntimeError as error:
        raise BadExpression(syntax_words(str(error))) from error
    if program.return_type() not in (cel.Type.BOOL, cel.Type.DYN):
        raise BadExpression(f"has to be true or false, and is {program.return_type().name().lower()}")
    works = "+" in {value for _, value in tokens} or not TEXT_FUNCTIONS.isdisjoint(_called(tokens))
    doubles = "double" in _called(tokens)
    return Compiled(
        program=program,
        paths=_paths(tokens),
        parts=len(tokens),
        has_macro=bool(macros),
        walks_values=bool(macros) and _walks_values(tokens),
        works_on_texts=works,
        makes_doubles=doubles,
    )


def run(text: str, arguments: Arguments, about: dict[str, str]) -> Tested:
    """What an expression says to these arguments; `about` are the other variables. Never raises."""
    if arguments.is_spent:
        return Tested(None, TOO_SLOW)
    try:
        # Once in a process, and bounded by the length: no work that the arguments make.
        ready = compiled(text)
    except BadExpression as error:
        return Tested(None, f"the expression {error}")
    began = thread_time()
    try:
        found = _run(ready, arguments, about)
    finally:
        arguments.spend(began)
    return Tested(None, TOO_SLOW) if arguments.is_spent else found


def _run(ready: Compiled, arguments: Arguments, about: dict[str, str]) -> Tested:
    if (size := len(arguments.text.encode())) > MOST_BYTES:
        return Tested(None, f"the arguments have {size} bytes; an expression reads at most {MOST_BYTES}")
    elements = arguments.values if ready.has_macro else 0
    if (
        elements * ready.parts > MOST_WORK
        or (ready.walks_values and elements**2 * ready.parts > MOST_WALKS)
        or (ready.works_on_texts and elements * size > MOST_TEXT_WORK)
    ):
        return Tested(None, "the arguments have too many parts for this expression")
    try:
        if ready.makes_doubles:
            arguments.check_doubles()
        found = ready.program.eval(_activation(arguments, about))
    except Inexact as error:
        return Tested(None, str(error))
    except (RuntimeError, TypeError, ValueError) as error:
        return Tested(None, _why(error))
    if found.type() != cel.Type.BOOL:
        return Tested(None, _why(found.value()))
    holds = found.value() is True
    return Tested(holds, "the expression holds" if holds else "the expression does not hold")


def sides(text: str) -> list[tuple[str, str]]:
    """What of an expression has to come to a value by itself, each with what was written of it (`expression_parts`)."""
    return parts(_tokens(text), MACROS)


def paths_in(text: str) -> tuple[tuple[str, ...], ...]:
    """The arguments that an expression names, as keys from the outside in."""
    return _paths(_tokens(text))


def type_failure(text: str, arguments: Arguments, about: dict[str, str]) -> str:
    """How an expression, of whatever type, fails because a value is of the wrong one, in words; empty when it does not.

    For samples: nothing bounds what it costs but the length.
    """
    try:
        found = _compiled_side(text).eval(_activation(arguments, about))
        if found.type() != cel.Type.ERROR:
            return ""
        said = bare(str(found.value()))
    except RuntimeError as error:
        said = bare(str(error))
    return type_words(said)


@lru_cache(maxsize=500)
def _compiled_side(text: str) -> Any:
    return _environment().compile(text)


def _activation(arguments: Arguments, about: dict[str, str]) -> Any:
    """The variables of one call as the engine takes them, made once for all its expressions."""
    if arguments.given is None or arguments.given[0] != about:
        arguments.given = about, _environment().Activation({"args": arguments.plain, **about})
    return arguments.given[1]


@lru_cache(maxsize=1)
def _environment() -> Any:
    return cel.NewEnv(variables=VARIABLES)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup == "comment":
            raise BadExpression(unread_words(text, at))
        kind = str(match.lastgroup)
        before = text[at - 1 : at]
        # A prefix (raw text, bytes) or a text in three quotes: this reader and the engine could differ on it.
        if kind == "text" and (before in ("'", '"') or before.isalnum()) and before:
            raise BadExpression("has a text that is not in plain quotes")
        if kind != "space":
            found.append((kind, match[0]))
        at = match.end()
    return found


def _called(tokens: list[tuple[str, str]]) -> list[str]:
    return [value for (kind, value), (_, after) in pairwise(tokens) if kind == "name" and after == "("]


def _walks_values(tokens: list[tuple[str, str]]) -> bool:
    """Whether it compares what may be lists or objects: then each comparison may walk all of a value.

    Not beside a text or a number in plain sight, and not in a list of nothing else.
    """
    for at, (_, word) in enumerate(tokens):
        if word in ("==", "!=") and not {"text", "number"} & {tokens[at - 1][0], tokens[at + 1][0]}:
            return True
        if tokens[at] == ("name", "in") and not _is_plain_list(tokens, at + 1):
            return True
    return False


def _is_plain_list(tokens: list[tuple[str, str]], at: int) -> bool:
    """Whether a list of texts and numbers begins here, and nothing is added to it."""
    if tokens[at][1] != "[":
        return False
    for kind, word in tokens[at + 1 :]:
        at += 1
        if kind not in ("text", "number") and word != ",":
            return word == "]" and tokens[at + 1 : at + 2] != [("sign", "+")]
    return False


def _check_patterns(tokens: list[tuple[str, str]]) -> None:
    for at, (kind, value) in enumerate(tokens):
        if (kind, value) != ("name", "matches"):
            continue
        after = [word for word, _ in tokens[at + 1 : at + 4]], [word for _, word in tokens[at + 1 : at + 4]]
        if after[0][1:2] != ["text"] or after[1][2:3] != [")"]:
            raise BadExpression(
                "takes patterns from elsewhere; write the pattern of matches into the expression"
            )
        pattern = after[1][1][1:-1]
        if len(pattern) > MOST_PATTERN or "{" in pattern:
            raise BadExpression(
                f"has a pattern that is too costly: at most {MOST_PATTERN} characters, without {{n}}"
            )


def _check_numbers(tokens: list[tuple[str, str]]) -> None:
    """A double from 2^53 on stands for several whole numbers; it would equal all of them."""
    for kind, value in tokens:
        is_double = kind == "number" and not value.startswith("0x") and set(".eE") & set(value)
        if is_double and abs(Decimal(value)) >= DOUBLE_STEPS:
            raise BadExpression(f"has {value}, which is too large for a fraction; write it as a whole number")


def _paths(tokens: list[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    starts = [
        at + 1
        for at, token in enumerate(tokens)
        if token == ("name", "args") and (at == 0 or tokens[at - 1][1] != ".")
    ]
    found = [_path(tokens, at) for at in starts]
    return tuple(dict.fromkeys(path for path in found if path))


def _path(tokens: list[tuple[str, str]], at: int) -> tuple[str, ...]:
    keys: list[str] = []
    while at + 1 < len(tokens):
        sign, (kind, value) = tokens[at][1], tokens[at + 1]
        if sign == "." and kind == "name" and tokens[at + 2 : at + 3] != [("sign", "(")]:
            keys.append(value)
            at += 2
        elif sign == "[" and kind in ("text", "number") and tokens[at + 2 : at + 3] == [("sign", "]")]:
            keys.append(value[1:-1] if kind == "text" else value)
            at += 3
        else:
            break
    return tuple(keys)


def _why(error: object) -> str:
    """Why an expression came to no answer, in words that hold no value of an argument: it may be a secret."""
    text = bare(str(error))
    if text.startswith("Key not found"):
        return "the expression failed: an argument that it names is missing"
    told = text.startswith(("No matching overloads", "integer overflow", "divide by zero", "modulus by zero"))
    return f"the expression failed: {text}" if told else "the expression failed"
