"""JSON Schemas of tools, which agents write: checked at registration, and used without trusting them. Pure.

An agent's schema is hostile input. It fetches nothing (`$ref` stays inside, an `$id` below the root is refused), its
patterns run in a linear-time engine, size, depth and number of its parts are limited, and every check has a budget
of steps, so that no combination of schema and arguments holds a process up. Numbers are compared as decimals:
9007199254740993 is not 9007199254740992, and `1E2` is an integer, as the specification says. `format` is ignored.

Whatever cannot be checked raises `SchemaUnusable`, and that means that a person has to look: never that all is well.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any

from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable
from reviewhub_agents import canonical

from reviewhub.tools.dialects import Budget, Exhausted, dialect_of, quiet, running
from reviewhub.tools.schema_check import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, problems_of
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
    validator = _validator(schema_text)
    try:
        arguments = quiet(canonical.parse(arguments_text))
    except canonical.BadJson as error:
        raise SchemaUnusable(f"The arguments cannot be read: {error}") from error
    try:
        with running(Budget(max_steps)):
            errors: list[ValidationError] = list(islice(validator.iter_errors(arguments), MAX_ERRORS))
    except Exhausted as error:
        raise SchemaUnusable(
            f"The arguments could not be checked: the tool's schema takes more than {max_steps} steps."
        ) from error
    except RecursionError as error:
        raise SchemaUnusable(
            "The arguments could not be checked: the tool's schema nests too deep."
        ) from error
    except Unresolvable as error:
        raise SchemaUnusable(f"The tool's schema refers to something that is not there: {error}") from error
    return [error_of(error) for error in errors]


def fingerprint(text: str) -> str:
    """`sha256:<hex>` over the canonical text of a schema: equal for equal schemas, however they are written.

    Raises:
        BadJson: `text` is no acceptable JSON.
    """
    return "sha256:" + sha256(canonical.canonical(text).encode()).hexdigest()


@lru_cache(maxsize=64)
def _validator(schema_text: str) -> Any:
    if problems := check_schema(schema_text):
        first = problems[0]
        raise SchemaUnusable(f"The tool's schema cannot be used: {first['path'] or '/'}: {first['message']}")
    tree = canonical.parse(schema_text)
    if isinstance(tree, bool):
        return dialect_of({})(tree, registry=Registry())
    assert isinstance(tree, dict)  # check_schema has seen to that
    dialect = dialect_of(tree)
    # Without a base address of its own the schema cannot make a local reference a remote one.
    content = {key: value for key, value in tree.items() if key not in ("$id", "$schema")}
    return dialect(quiet(content), registry=Registry())
