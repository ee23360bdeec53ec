"""Rows that tests of one module share which ask for the same: made once, before the transaction of each test.

A test's own transaction is a savepoint in that of the shared rows, so nothing that it does reaches the next; and it
never sees rows that it did not ask for. A transactional test shares nothing: what it asks for is made for it alone.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Set
from dataclasses import fields, replace
from types import ModuleType
from typing import Any, Final

import pytest
from django.db import transaction
from django.db.models import Model
from django.db.models.base import ModelState

from tests.cast import Cast

_OWN = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("request", "db")]


def shared(make: Callable[..., Any]) -> Callable[..., Any]:
    """A fixture called like `make`, which makes rows; the arguments of `make` are other shared fixtures.

    Each test gets a deep copy of all that it asks for.
    """
    name = make.__name__
    needed = list(inspect.signature(make).parameters)

    def given(request: pytest.FixtureRequest, db: None, **others: Any) -> Any:
        return SHARED.given[name] if shares(request.node) else make(**others)

    given.made_by = make  # type: ignore[attr-defined]
    arguments = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in needed]
    given.__signature__ = inspect.Signature([*_OWN, *arguments])  # type: ignore[attr-defined]
    given.__doc__ = make.__doc__
    return pytest.fixture(name=name)(given)


def shares(test: pytest.Item) -> bool:
    """Whether the test's changes are rolled back."""
    marker = test.get_closest_marker("django_db")
    transactional = bool(marker and (marker.kwargs.get("transaction") or marker.args))
    return not transactional and not {"transactional_db", "live_server"}.intersection(_names(test))


def _names(test: pytest.Item) -> list[str]:
    return test.fixturenames  # type: ignore[attr-defined, no-any-return]


def _makers(test: pytest.Item) -> dict[str, Callable[..., Any]]:
    """What makes the shared rows that the test asks for, itself or by others."""
    known = test._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    makers = {name: getattr(known[name][-1].func, "made_by", None) for name in _names(test) if name in known}
    return {name: make for name, make in makers.items() if make}


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """`copy.deepcopy`, which takes ten times as long for rows: their values are of kinds that never change."""
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, Model):
        new = memo[id(value)] = type(value).__new__(type(value))
        new.__dict__.update(value.__dict__)
        state = value._state
        new._state = ModelState()
        new._state.adding, new._state.db = state.adding, state.db
        new._state.fields_cache = {name: _copied(row, memo) for name, row in state.fields_cache.items()}
        return new
    if isinstance(value, dict):
        return {name: _copied(one, memo) for name, one in value.items()}
    if isinstance(value, Cast):
        return replace(value, **{one.name: _copied(getattr(value, one.name), memo) for one in fields(value)})
    return copy.deepcopy(value, memo)


class Shared:
    """The rows of the tests that run, and the transaction that they live in."""

    def __init__(self) -> None:
        # The module, and what its tests ask for.
        self._for: tuple[ModuleType, Set[str]] | None = None
        self._made: dict[Callable[..., Any], Any] = {}
        self._atomic: transaction.Atomic | None = None
        # What the test that runs has got, by name.
        self.given: dict[str, Any] = {}

    def prepare(self, test: pytest.Item) -> None:
        """Before the test's own transaction: what it will ask for is there, and others' rows are not."""
        makers = _makers(test) if shares(test) else {}
        wanted = (test.module, makers.keys()) if makers else None  # type: ignore[attr-defined]
        if wanted != self._for:
            self.end()
            self._for = wanted
        if makers:
            self._begin()
        # All at once: what one of them is in another, it is in the copies too.
        self.given = _copied({name: self._of(name, makers) for name in makers}, {})

    def end(self) -> None:
        """Undoes everything."""
        self._made = {}
        self._for = None
        if self._atomic is not None:
            transaction.set_rollback(True)
            self._atomic.__exit__(None, None, None)
            self._atomic = None

    def _of(self, name: str, makers: dict[str, Callable[..., Any]]) -> Any:
        make = makers[name]
        if make not in self._made:
            self._made[make] = make(*(self._of(each, makers) for each in inspect.signature(make).parameters))
        return self._made[make]

    def _begin(self) -> None:
        if self._atomic is None:
            self._atomic = transaction.atomic()
            # As Django's own test cases do: a durable block in a test is none within another.
            self._atomic._from_testcase = True  # type: ignore[attr-defined]
            self._atomic.__enter__()


SHARED: Final = Shared()
