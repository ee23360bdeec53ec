"""docs/exact-values.md is enough to read what is written: its reader reads the matrix, its table has each type."""

from __future__ import annotations

import json
import re
import struct
from base64 import b64decode
from collections import deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel
from reviewhub_agents import canonical, exact
from reviewhub_agents.exact import OpaqueBytes, unpacking
from reviewhub_agents.runtime import StateType

from tests.agents.values import TYPES, VALUES, equal

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "exact-values.md").read_text()
KNOWS = (
    re,
    struct,
    b64decode,
    deque,
    date,
    datetime,
    time,
    timedelta,
    timezone,
    Decimal,
    sha256,
    UUID,
    ZoneInfo,
)


def reader() -> Any:
    (code,) = re.findall(r"```python\n(def unpack.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {known.__name__.removeprefix("openssl_"): known for known in KNOWS}
    exec(code, names)
    return names["unpack"]


def of_a_class(value: Any) -> bool:
    return bool(
        re.search(
            r'"\$rh2?":("enum"|"object"|"matrix"|true)', canonical.dumps(exact.pack(value, types=TYPES))
        )
    )


@pytest.mark.parametrize("name", [name for name, value in VALUES.items() if not of_a_class(value)])
def test_the_reader_on_the_page_reads_every_value(name: str) -> None:
    value = VALUES[name]
    if name == "a number as it is written":
        return
    found = reader()(json.loads(canonical.dumps(exact.pack(value))))
    assert equal(value.data if isinstance(value, OpaqueBytes) else value, found)


def test_the_table_has_each_type() -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert documented == {*unpacking._READERS, *unpacking._CONTAINERS, "enum", "object"}


def examples() -> list[str]:
    return re.findall(r"```json\n(.*?)\n```", PAGE)


def test_the_example_of_the_form_is_what_is_written() -> None:
    example = examples()[0]
    assert exact.unpack(canonical.parse(example)) == {"total": Decimal("12.50"), "seen": {1, 2}}
    assert canonical.dumps(exact.pack({"total": Decimal("12.50"), "seen": {1, 2}})) == canonical.canonical(
        example
    )


class Priced(BaseModel):
    total: Decimal


def test_the_example_of_a_schema_is_what_is_made() -> None:
    found: dict[str, Any] = dict(StateType("priced", Priced).schema)
    assert found["properties"]["total"] == json.loads(examples()[1])
