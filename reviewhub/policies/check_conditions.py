"""Conditions against the schemas of the tools that they are about, while a mistake is still a form error."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from reviewhub_agents import canonical

from reviewhub.policies import expressions
from reviewhub.policies.arguments import Arguments
from reviewhub.policies.conditions import tested
from reviewhub.policies.expressions import BadExpression
from reviewhub.policies.index import is_about
from reviewhub.policies.limit import Limit
from reviewhub.policies.model import NUMBER_TESTS, PRESENCE_TESTS, TEXT_TESTS, Condition, Line, Policy, Rule
from reviewhub.policies.readings import Readings
from reviewhub.policies.schema_paths import TYPES, sample, types_at, values_at
from reviewhub.tools.models import Tool
from reviewhub.tools.placeholders import unknown_names

MOST_LISTED = 10
MOST_TOOLS = 20
"""Of how many tools that a pattern matches an expression is tried on samples."""
Error = dict[str, str]
_WORDS = {"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false",
          "array": "a list", "object": "an object", "null": "null"}  # fmt: skip


@dataclass(frozen=True)
class Described:
    """A tool with a schema: what conditions can be checked against."""

    agent: str
    name: str
    schema: str

    @property
    def tree(self) -> Any:
        """The schema as a value."""
        return canonical.to_python(self.exact)

    @property
    def exact(self) -> Any:
        """The schema with its numbers as they are written."""
        return canonical.reread(self.schema)


def check_conditions(policy: Policy, workspace_id: uuid.UUID) -> list[Error]:
    """What is wrong with the conditions, the locked fields and the limits of a policy, as {path, code, message}.

    Empty when they can be used.
    """
    conditional = [rule for _, rules in policy.layers for rule in rules if _has_paths(rule)]
    summing = [limit for limit in policy.limits if limit.sum_of is not None]
    tools = described(workspace_id) if conditional or summing else []
    wrote = [*_written_otherwise(policy, tools)]
    if wrote:
        return wrote
    return [
        *(
            {**error, "path": f"/limits/{at}{error['path']}"}
            for at, limit in enumerate(policy.limits)
            for error in _limit_errors(limit, tools)
        ),
        *_rule_errors(policy, tools),
    ]


def _rule_errors(policy: Policy, tools: list[Described]) -> list[Error]:
    return [
        {**error, "path": f"/{layer}/{at}{error['path']}"}
        for layer, rules in policy.layers
        for at, rule in enumerate(rules)
        if _has_paths(rule)
        for error in errors_of(rule, tools)
    ]


def _has_paths(rule: Rule) -> bool:
    """Whether it names arguments anywhere."""
    return rule.has_conditions or bool(rule.locked_fields)


def described(workspace_id: uuid.UUID) -> list[Described]:
    """The registered tools of a workspace that have a schema."""
    rows = Tool.objects.filter(workspace_id=workspace_id, registered_at__isnull=False).exclude(schema="")
    return [Described(*row) for row in rows.order_by("name").values_list("agent__name", "name", "schema")]


def errors_of(rule: Rule, tools: list[Described]) -> Iterator[Error]:
    """What is wrong with the conditions of one rule, for the tools that it is about."""
    about = [tool for tool in tools if rule.agent in (None, tool.agent) and is_about(rule, tool.name)][
        :MOST_TOOLS
    ]
    for at, condition in enumerate(rule.when):
        path = condition.path.split(".")
        if about and all(unknown_names(tool.schema, [condition.path]) for tool in about):
            yield _unknown(f"/when/{at}/path", condition.path, about)
        elif about and (said := _wrong_type(condition, [types_at(tool.tree, path) for tool in about])):
            yield {"path": f"/when/{at}/value", "code": "wrong_type", "message": said}
        elif about and (said := _never(condition, [values_at(tool.exact, path) for tool in about], rule)):
            yield {"path": f"/when/{at}/value", "code": "never_holds", "message": said}
    for at, locked in enumerate(rule.locked_fields):
        if about and all(unknown_names(tool.schema, [locked]) for tool in about):
            yield _unknown(f"/locked_fields/{at}", locked, about)
    if rule.expression is not None:
        yield from _expression_errors(rule.expression, about)


def _written_otherwise(policy: Policy, tools: list[Described]) -> Iterator[Error]:
    """Paths that are written as a pointer, or as in a program, where no tool has such a name: no call would ever have
    them, and what cannot be decided holds every call."""
    names = {name for tool in tools for name in _names(tool.tree)}
    for layer, lines in policy.lines:
        for at, line in enumerate(lines):
            for place, path in _paths(line):
                plain = _plain(path)
                if plain != path and path.split(".")[0] not in names:
                    words = f"“{path}” is no path here: names with dots between them are, such as “{plain}”."
                    yield {"path": f"/{layer}/{at}{place}", "code": "unknown_path", "message": words}


def _names(schema: Any) -> Iterable[str]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else ()


def _paths(line: Line) -> Iterator[tuple[str, str]]:
    if isinstance(line, Rule):
        yield from ((f"/when/{at}/path", one.path) for at, one in enumerate(line.when))
        yield from ((f"/locked_fields/{at}", one) for at, one in enumerate(line.locked_fields))
    elif isinstance(line, Limit) and line.sum_of is not None:
        yield "/sum_of", line.sum_of


def _plain(path: str) -> str:
    """A path as it is meant by who writes `/amount`, `$.amount`, `args.amount` or `items[0].price`."""
    bare = re.sub(r"^(\$|args|arguments)\.", "", path)
    if bare.startswith("/"):
        bare = bare[1:].replace("/", ".")
    return re.sub(r"\[['\"]?([^\]'\"]+)['\"]?\]", r".\1", bare).lstrip(".") or path


def _never(condition: Condition, listed: list[list[Any] | None], rule: Rule) -> str:
    """Why none of the values that the schemas list passes this test; empty where one does, or where one lists none."""
    values = [value for of_one in listed for value in of_one or ()]
    if any(of_one is None for of_one in listed) or condition.test in PRESENCE_TESTS:
        return ""
    readings = Readings()
    if any(tested(condition, value, lets_run=rule.lets_run, readings=readings).holds for value in values):
        return ""
    said = ", ".join(canonical.dumps(value) for value in values[:MOST_LISTED])
    more = ", …" if len(values) > MOST_LISTED else ""
    return f"{condition.path} is one of {said}{more}, so “{condition}” never holds."


def _limit_errors(limit: Limit, tools: list[Described]) -> Iterator[Error]:
    """A limit that adds up what no call of its tools has, or what is never a number."""
    about = [tool for tool in tools if limit.agent in (None, tool.agent) and is_about(limit, tool.name)]
    about = about[:MOST_TOOLS]
    if limit.sum_of is None or not about:
        return
    path = limit.sum_of.split(".")
    if all(unknown_names(tool.schema, [limit.sum_of]) for tool in about):
        yield _unknown("/sum_of", limit.sum_of, about)
        return
    types = frozenset[str]().union(*(types_at(tool.tree, path) for tool in about))
    if not types & {"number", "integer", "string"}:
        words = f"{limit.sum_of} is {_in_words(types)}, and a sum needs a number."
        yield {"path": "/sum_of", "code": "wrong_type", "message": words}


def _wrong_type(condition: Condition, found: list[frozenset[str]]) -> str:
    """Why no value that the schemas allow passes this test; empty when one may."""
    wanted = _wanted(condition)
    types: frozenset[str] = frozenset().union(*found)
    if types & wanted:
        return ""
    test = condition.test.replace("_", " ")
    return f"{condition.path} is {_in_words(types)}, and “{test}” needs {_in_words(wanted)}."


def _in_words(types: frozenset[str]) -> str:
    return " or ".join(_WORDS.get(kind, kind) for kind in TYPES if kind in types)


def _wanted(condition: Condition) -> frozenset[str]:
    if condition.test in PRESENCE_TESTS:
        return frozenset(TYPES)
    if condition.test in NUMBER_TESTS:
        return frozenset({"number", "integer", "string"})
    if condition.test in TEXT_TESTS:
        return frozenset({"string", "array"} if condition.test.startswith("contains") else {"string"})
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    return frozenset(kind for value in values for kind in _kinds(value))


def _kinds(value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        return ("boolean",)
    return ("string",) if isinstance(value, str) else ("number", "integer")


def _expression_errors(text: str, about: list[Described]) -> Iterator[Error]:
    try:
        ready = expressions.compiled(text)
    except BadExpression as error:
        yield {"path": "/expression", "code": "bad_expression", "message": f"The expression {error}."}
        return
    unknown = [path for path in map(".".join, ready.paths) if _nowhere(path, about)]
    yield from (_unknown("/expression", path, about) for path in unknown)
    seen: list[str] = []
    for side, written in expressions.sides(text):
        # What holds a part that fails would fail with it.
        if not any(one in written for one in seen) and (said := _never_fits(side, written, about)):
            seen.append(written)
            yield {"path": "/expression", "code": "wrong_type", "message": said}


def _nowhere(path: str, about: list[Described]) -> bool:
    return bool(about) and all(unknown_names(tool.schema, [path]) for tool in about)


def _never_fits(side: str, written: str, about: list[Described]) -> str:
    """How a part of an expression fails because of types on samples of every tool that has what it names; empty when
    it does not."""
    named = [".".join(path) for path in expressions.paths_in(side)]
    having = [tool for tool in about if not unknown_names(tool.schema, named)]
    failures = [_failure(side, written, tool) for tool in having]
    return failures[0] if failures and all(failures) else ""


def _failure(side: str, written: str, tool: Described) -> str:
    """How it fails on samples of a tool's arguments: on all with whole numbers, or on all with fractions."""
    about = dict.fromkeys(expressions.VARIABLES.keys() - {"args"}, "x")
    for whole in (True, False):
        turns = [canonical.dumps(sample(tool.tree, whole=whole, turn=turn)) for turn in range(len(TYPES))]
        found = {
            given: expressions.type_failure(side, Arguments(given), about) for given in dict.fromkeys(turns)
        }
        if all(found.values()):
            given, why = next(iter(found.items()))
            return f"“{written}” fails: {why}. Tried on {given[:200]} for {tool.name}."
    return ""


def _unknown(place: str, path: str, about: list[Described]) -> Error:
    names = ", ".join(dict.fromkeys(tool.name for tool in about[:3]))
    return {"path": place, "code": "unknown_path", "message": f"Calls of {names} have no “{path}”."}
