"""Rows that the tests of one module share: made once, before the transaction of each test, gone with the module.

A test's own transaction is a savepoint in that of its module, so nothing that it does reaches the next. A transactional
test shares nothing: what it asks for is made for it alone.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import pytest
from django.db import transaction

_MAKERS: Final[dict[str, Callable[..., Any]]] = {}


def shared(make: Callable[..., Any]) -> Callable[..., Any]:
    """A fixture called like `make`, which makes rows; its arguments are other shared fixtures by name.

    Each test gets a deep copy of what was made, unless it forbids that (`__deepcopy__`).
    """
    name = make.__name__
    assert _MAKERS.setdefault(name, make) is make, f"two shared fixtures are called {name}"

    @pytest.fixture(name=name)
    def given(request: pytest.FixtureRequest, db: None) -> Any:
        return copy.deepcopy(SHARED.of(name)) if shares(request.node) else _make(name, {})

    return given


def shares(test: pytest.Item) -> bool:
    """Whether the test's changes are rolled back."""
    marker = test.get_closest_marker("django_db")
    transactional = bool(marker and (marker.kwargs.get("transaction") or marker.args))
    return not transactional and not {"transactional_db", "live_server"}.intersection(test.fixturenames)  # type: ignore[attr-defined]


class Shared:
    """The rows of the module whose tests run, and the transaction that they live in."""

    def __init__(self) -> None:
        self._module: ModuleType | None = None
        self._made: dict[str, Any] = {}
        self._atomic: transaction.Atomic | None = None

    def prepare(self, test: pytest.Item) -> None:
        """Before the test's own transaction: what it will ask for is there, and another module's rows are not."""
        module = test.module if shares(test) else None  # type: ignore[attr-defined]
        if module is not self._module:
            self.end()
            self._module = module
        if module is None:
            return
        for name in test.fixturenames:  # type: ignore[attr-defined]
            if name in _MAKERS:
                self._begin()
                _make(name, self._made)

    def of(self, name: str) -> Any:
        """What was made by that name."""
        return self._made[name]

    def end(self) -> None:
        """Undoes everything."""
        self._made = {}
        if self._atomic is not None:
            transaction.set_rollback(True)
            self._atomic.__exit__(None, None, None)
            self._atomic = None

    def _begin(self) -> None:
        if self._atomic is None:
            self._atomic = transaction.atomic()
            # As Django's own test cases do: a durable block in a test is none within another.
            self._atomic._from_testcase = True  # type: ignore[attr-defined]
            self._atomic.__enter__()


def _make(name: str, made: dict[str, Any]) -> Any:
    if name not in made:
        make = _MAKERS[name]
        made[name] = make(*(_make(needed, made) for needed in inspect.signature(make).parameters))
    return made[name]


SHARED: Final = Shared()
