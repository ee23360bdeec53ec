"""What DATABASE_URL means for a connection."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub import settings
from reviewhub.env import BadSetting

URL = "postgresql://who@host:6432/name"


def meant(url: str) -> dict[str, Any]:
    return settings._database(url)


def test_a_connection_of_its_own_has_timeouts() -> None:
    found = meant(f"{URL}?sslmode=require")
    assert "statement_timeout=30000" in found["OPTIONS"]["options"]
    assert "jit=off" in found["OPTIONS"]["options"], "to compile the query of the queue took seconds"
    assert found["OPTIONS"]["sslmode"] == "require"
    assert found["DISABLE_SERVER_SIDE_CURSORS"] is False


def test_through_a_pooler_nothing_is_asked_for_that_it_refuses() -> None:
    found = meant(f"{URL}?pooler=transaction&sslmode=require")
    assert found["OPTIONS"] == {"sslmode": "require"}
    assert found["DISABLE_SERVER_SIDE_CURSORS"] is True


def test_a_pooler_of_another_kind_is_not_known() -> None:
    with pytest.raises(BadSetting, match="session"):
        meant(f"{URL}?pooler=session")
