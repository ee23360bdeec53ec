"""JSON Schemas of tools, which agents write: checked at registration, and used without trusting them. Pure.

An agent's schema is hostile input. It fetches nothing (`$ref` stays inside, an `$id` below the root is refused), its
patterns run in a linear-time engine, size, depth and number of its parts are limited, and every check has a budget
of steps, so that no combination of schema and arguments holds a process up. Numbers are compared as decimals:
9007199254740993 is not 9007199254740992, and `1E2` is an integer, as the specification says. `format` is ignored.

Whatever cannot be checked raises `SchemaUnusable`, and that means that a person has to look: never that all is well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from hashlib import sha256
from typing import Any

from reviewhub_agents import canonical

from reviewhub.tools.evaluator import Evaluation, Exhausted, exact
from reviewhub.tools.schema_check import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, is_early, problems_of, targets_of
from reviewhub.tools.wording import error_of

MAX_ERRORS = 50
MAX_STEPS = 100_000


class SchemaUnusable(Exception):
    """The tool's schema cannot be used to check these arguments, so they count as unchecked."""


def check_schema(text: str) -> list[dict[str, str]]:
    """What is wrong with the schema in `text`, as {path, code, message}; an empty list when it may be registered."""
    try:
        tree = canonical.parse(text, max_bytes=MAX_SCHEMA_BYTES, max_depth=MAX_SCHEMA_DEPTH)
    except canonical.BadJson as error:
        return [
            {"path": fault["path"], "code": fault["code"], "message": fault["message"]}
            for fault in error.errors
        ]
    return problems_of(tree)


def validate(schema_text: str, arguments_text: str, *, max_steps: int = MAX_STEPS) -> list[dict[str, str]]:
    """Where the arguments are not what the schema allows, as {path, code, message}; at most `MAX_ERRORS`.

    `path` is a JSON pointer into the arguments (of a missing member: where it would be), `code` the schema's keyword.

    Raises:
        SchemaUnusable: the schema is none that `check_schema` passes, or checking took more than `max_steps`.
    """
    compiled = _compiled(schema_text)
    try:
        arguments = exact(canonical.parse(arguments_text))
    except canonical.BadJson as error:
        raise SchemaUnusable(f"The arguments cannot be read: {error}") from error
    evaluation = Evaluation(
        targets=compiled.targets, lonely_references=compiled.lonely_references, steps=max_steps
    )
    try:
        faults = evaluation.faults(compiled.schema, arguments, limit=MAX_ERRORS)
    except Exhausted as error:
        raise SchemaUnusable(
            f"The arguments could not be checked: the tool's schema takes more than {max_steps} steps."
        ) from error
    except RecursionError as error:
        raise SchemaUnusable(
            "The arguments could not be checked: the tool's schema nests too deep."
        ) from error
    return [error_of(fault) for fault in faults]


def fingerprint(text: str) -> str:
    """`sha256:<hex>` over the canonical text of a schema: equal for equal schemas, however they are written.

    Raises:
        BadJson: `text` is no acceptable JSON.
    """
    return "sha256:" + sha256(canonical.canonical(text).encode()).hexdigest()


@dataclass(frozen=True)
class _Compiled:
    schema: Any
    targets: Mapping[str, Any]
    lonely_references: bool


@lru_cache(maxsize=64)
def _compiled(schema_text: str) -> _Compiled:
    if problems := check_schema(schema_text):
        first = problems[0]
        raise SchemaUnusable(f"The tool's schema cannot be used: {first['path'] or '/'}: {first['message']}")
    tree = canonical.parse(schema_text)
    schema = exact(tree)
    targets = {
        name: reduce(lambda part, key: part[key], keys, schema) for name, keys in targets_of(tree).items()
    }
    return _Compiled(schema, targets, is_early(tree))
