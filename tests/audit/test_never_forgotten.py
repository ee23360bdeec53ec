"""Nothing changes its state without an event, and every kind of event is one that is written."""

from __future__ import annotations

import ast
import datetime
import typing
import uuid
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

import pytest

import reviewhub
from reviewhub.audit import kinds

ROOT = Path(reviewhub.__file__).parent
# Modules that move a state and leave the event to their caller, with the reason.
LEFT_TO_THE_CALLER = {
    "core/transitions.py": "is the function itself",
    "policies/publish_draft.py": "`policies.publish` records that it is in force",
    "toolcalls/settle.py": "its callers record the decision or the outcome that settles the call",
    "gates/wake.py": "`runs.halt.lift` records that the branch goes on",
    "resumptions/enqueue.py": "part of the decision that wakes the branch",
    "runs/lease.py": "a worker's lease: the run's own events tell what came of it",
    "resumptions/claim.py": "a worker's lease: the run's own events tell what came of it",
    "resumptions/put_back.py": "a worker's lease ends; nothing happened to the run",
    "resumptions/give_up.py": "its caller records why",
    "resumptions/acknowledge.py": "the agent's own write is the event",
}
JSON_SAFE = (str, int, bool, NoneType, uuid.UUID, datetime.datetime)


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the server, by its path in the package."""
    for path in sorted(ROOT.rglob("*.py")):
        if "migrations" not in path.parts:
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def calls(tree: ast.AST, *names: str) -> list[ast.Call]:
    """Calls of one of `names`, plain or as an attribute."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if name in names:
                found.append(node)
    return found


def test_whoever_moves_a_state_records_it() -> None:
    forgetful = {
        name for name, tree in modules() if calls(tree, "move") and not calls(tree, "record", "record_many")
    }
    assert forgetful - set(LEFT_TO_THE_CALLER) == set()


def test_the_exceptions_are_still_there() -> None:
    present = {name for name, _ in modules()}
    assert set(LEFT_TO_THE_CALLER) <= present


def strings(tree: ast.AST) -> set[str]:
    """Every text constant of a module, apart from those in decorators."""
    decorators = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        for inner in ast.walk(decorator)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in decorators
    }


def registered() -> list[str]:
    """The product's own kinds, without those of tests."""
    return [name for name in kinds.names() if not kinds.find(name).model.__module__.startswith("tests.")]


def test_every_kind_is_written_somewhere() -> None:
    named: set[str] = set().union(*(strings(tree) for _, tree in modules()))
    assert set(registered()) - named == set()


def test_every_recorded_kind_is_registered() -> None:
    unknown = [
        (module, call.args[0].value)
        for module, tree in modules()
        for call in calls(tree, "record")
        if call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value not in kinds.names()
    ]
    assert unknown == []


def is_json_safe(annotation: Any) -> bool:
    """Whether a payload field of this type comes back from JSON as it was."""
    origin = typing.get_origin(annotation)
    if origin in (list, typing.Union, UnionType, typing.Annotated):
        return all(is_json_safe(inner) for inner in typing.get_args(annotation))
    if origin is dict:
        name, value = typing.get_args(annotation)
        return name is str and is_json_safe(value)
    if origin is typing.Literal:
        return True
    return isinstance(annotation, type) and issubclass(annotation, (*JSON_SAFE, Enum))


@pytest.mark.parametrize("name", registered())
def test_a_payload_holds_only_what_json_keeps(name: str) -> None:
    fields = kinds.find(name).model.model_fields
    assert [field for field, info in fields.items() if not is_json_safe(info.annotation)] == []
