"""Wrong settings of blob stores stop the start, and say what is wrong without what is secret."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.checkpoints.blobs.stores import check_settings, shown
from reviewhub.env import BadSetting

WRONG = [
    ({"main": "ftp://host/x"}, "none of database:"),
    ({"main": "database:other"}, "none of database:"),
    ({"main": "file://relative/x"}, "none of database:"),
    ({"main": "s3://"}, "none of database:"),
    ({"main": "s3://hunter2:hunter2@bucket/x"}, "AWS_ACCESS_KEY_ID"),
    ({"main": "s3://bucket/x?endpiont=http://host"}, "unknown options: endpiont"),
    ({"main": "redis://:hunter2@host:port/1"}, "cannot be read"),
    ({"main": "redis:///1"}, "none of database:"),
    ({"Main one": "database:"}, "'Main one'"),
]


@pytest.mark.parametrize(("stores", "says"), WRONG)
def test_an_address_of_no_store(settings: Any, stores: dict[str, str], says: str) -> None:
    settings.BLOB_STORES = stores
    with pytest.raises(BadSetting) as raised:
        check_settings()
    assert says in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(("name", "value"), [("BLOB_LARGE_BYTES", 16_383), ("BLOB_TIMEOUT_SECONDS", 0)])
def test_a_number_that_is_too_small(settings: Any, name: str, value: int) -> None:
    setattr(settings, name, value)
    with pytest.raises(BadSetting, match=name):
        check_settings()


RIGHT = [
    "database:",
    "file:///srv/blobs",
    "redis://:pass@host:6379/3",
    "rediss://host",
    "valkey://host:6379/3",
    "s3://bucket",
    "s3://bucket/a/prefix?endpoint=https://host&region=eu-west-1",
]


def test_addresses_of_stores(settings: Any) -> None:
    """None is asked anything: one that is down stops no start."""
    settings.BLOB_STORES = {f"store-{number}": url for number, url in enumerate(RIGHT)}
    check_settings()


def test_an_address_is_shown_without_secrets() -> None:
    assert shown("redis://user:hunter2@host:6379/3?password=hunter2") == "redis://host:6379/3"
