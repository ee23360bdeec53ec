"""The parts of a long run share nothing on the servers."""

from __future__ import annotations

import pytest

from tests.everything import beside

HERE = {
    "DATABASE_URL": "postgresql://postgres@127.0.0.1:5432/reviewhub?sslmode=disable",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
}


@pytest.mark.parametrize(
    ("number", "database", "broker"),
    [
        (0, "postgresql://postgres@127.0.0.1:5432/reviewhub?sslmode=disable", "redis://127.0.0.1:6379/0"),
        (1, "postgresql://postgres@127.0.0.1:5432/reviewhub_1?sslmode=disable", "redis://127.0.0.1:6379/15"),
    ],
)
def test_each_part_has_its_own(number: int, database: str, broker: str) -> None:
    assert beside(HERE, number) == {"DATABASE_URL": database, "REDIS_URL": broker}


def test_without_servers_there_is_nothing_to_share() -> None:
    assert beside({"DATABASE_URL": "", "REDIS_URL": ""}, 1) == {"DATABASE_URL": "", "REDIS_URL": ""}
    assert beside({}, 1) == {}
