"""Keys of the test's own, and a record that is sealed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from reviewhub.audit import seal
from reviewhub.audit.triggers import drop_triggers


@pytest.fixture(autouse=True)
def audit_keys(tmp_path: Path, settings: Any) -> Path:
    """A folder of keys for this test alone."""
    settings.AUDIT_KEYS = tmp_path / "audit"
    return tmp_path / "audit"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seals what the test's own open transaction wrote, which PostgreSQL holds back otherwise."""
    monkeypatch.setattr(seal, "horizon", lambda: None)


@contextmanager
def tampering() -> Iterator[None]:
    """What whoever owns the database can do: no guard, no foreign key. All of it is undone at the end."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                drop_triggers()
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        else:
            drop_triggers()
        yield
        transaction.set_rollback(True)
