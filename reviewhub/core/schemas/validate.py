"""JSON Schemas of tools and states, which agents write: checked at registration, and used without trusting them. Pure.

An agent's schema is hostile input. It fetches nothing (`$ref` stays inside, an `$id` below the root is refused), its
patterns run in a linear-time engine, size, depth and number of its parts are limited, and every check has a budget
of steps, so that no combination of schema and value holds a process up. Numbers are compared as decimals:
9007199254740993 is not 9007199254740992, and `1E2` is an integer, as the specification says. `format` is ignored.

Whatever cannot be checked raises `SchemaUnusable`, and that means that a person has to look: never that all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from hashlib import sha256
from typing import Any

from reviewhub_agents import canonical

from reviewhub.core.schemas.check import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, is_early, problems_of, targets_of
from reviewhub.core.schemas.evaluator import KEYWORDS, Evaluation, Exhausted, Fault, exact
from reviewhub.core.schemas.wording import error_of

MAX_ERRORS = 50
MAX_STEPS = 100_000


class SchemaUnusable(Exception):
    """The schema cannot be used to check this value, so it counts as unchecked."""


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
    return validate_tree(schema_text, _reread(arguments_text), max_steps=max_steps)


def validate_tree(
    schema_text: str, arguments: canonical.Tree, *, max_steps: int = MAX_STEPS
) -> list[dict[str, str]]:
    """As `validate`, for arguments that were read already."""
    check = compiled(schema_text).begin(steps=max_steps)
    found = check.faults_of(check.schema.root, exact(arguments), limit=MAX_ERRORS)
    return [error_of(fault) for fault in found]


def fingerprint(text: str) -> str:
    """`sha256:<hex>` over the canonical text of a schema: equal for equal schemas, however they are written.

    Raises:
        BadJson: `text` is no acceptable JSON.
    """
    return "sha256:" + sha256(canonical.canonical(text).encode()).hexdigest()


@dataclass(frozen=True)
class Compiled:
    """A schema that `check_schema` passes, ready to be used. `root` is the whole of it."""

    root: Any
    targets: Mapping[str, Any]
    lonely_references: bool

    def begin(self, *, steps: int) -> Check:
        """A check of one value, or of several parts of it, that takes at most `steps` together."""
        return Check(schema=self, steps=steps)

    def resolved(self, part: Any) -> Any:
        """The part that `part` refers to, if it says nothing else; else itself."""
        while isinstance(part, dict) and said(part) == {"$ref"}:
            part = self.targets[part["$ref"]]
        return part


def said(part: Any) -> set[str]:
    """The keywords of a part of a schema that are about values; notes and definitions are left out."""
    return set(part) & KEYWORDS if isinstance(part, dict) else set()


class Check:
    """One use of a schema, with its budget."""

    def __init__(self, *, schema: Compiled, steps: int) -> None:
        self.schema = schema
        self._steps = steps
        self._evaluation = Evaluation(
            targets=schema.targets, lonely_references=schema.lonely_references, steps=steps
        )

    def allow(self, steps: int) -> None:
        """Adds to the budget, for a value that may be larger than those it was made for."""
        self._steps += steps
        self._evaluation.left += steps

    def faults(
        self, part: Any, text: str, *, limit: int, see: Callable[[canonical.Tree], Any] = exact
    ) -> list[Fault]:
        """At most `limit` faults of the value with this canonical text, by a part of the schema.

        Args:
            see: makes of what is written what is compared, with a Decimal for each number.

        Raises:
            SchemaUnusable: it cannot be checked, or not with what is left of the budget.
        """
        return self.faults_of(part, see(_reread(text)), limit=limit)

    def faults_of(self, part: Any, value: Any, *, limit: int) -> list[Fault]:
        """As `faults`, for a value that was read and has a Decimal for each number."""
        try:
            return self._evaluation.faults(part, value, limit=limit)
        except Exhausted as error:
            raise SchemaUnusable(
                f"could not be checked: the schema takes more than {self._steps} steps"
            ) from error
        except RecursionError as error:
            raise SchemaUnusable("could not be checked: the schema nests too deep") from error


def _reread(text: str) -> canonical.Tree:
    """The value of a text, which was bounded where it came in."""
    try:
        return canonical.reread(text)
    except canonical.BadJson as error:
        raise SchemaUnusable(f"cannot be read: {error}") from error


@lru_cache(maxsize=64)
def compiled(schema_text: str) -> Compiled:
    """The schema in `schema_text`. Raises SchemaUnusable if it is none that `check_schema` passes."""
    if problems := check_schema(schema_text):
        first = problems[0]
        raise SchemaUnusable(f"The schema cannot be used: {first['path'] or '/'}: {first['message']}")
    tree = canonical.reread(schema_text)
    schema = exact(tree)
    targets = {
        name: reduce(lambda part, key: part[key], keys, schema) for name, keys in targets_of(tree).items()
    }
    return Compiled(schema, targets, is_early(tree))
