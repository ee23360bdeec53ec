"""What a model's answer took, what it costs, and how long a branch worked: tables."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reviewhub.hosting.usage import Usage, cost_micros, money, usage_of
from reviewhub.runs.worked import worked

T0 = datetime(2026, 1, 5, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        ({"input_tokens": 812, "output_tokens": 64}, (812, 64)),
        ({"input_tokens": 812}, (812, 0)),
        ({"input_tokens": -1, "output_tokens": 1.5}, (0, 0)),
        ({"input_tokens": True, "output_tokens": "7"}, (0, 0)),
        ({"input_tokens": 10**13}, (0, 0)),
        ("much", (0, 0)),
        (None, (0, 0)),
    ],
)
def test_what_the_provider_says(usage: Any, found: tuple[int, int]) -> None:
    value = json.dumps({"of": "x", "value": {"content": "hello", "usage": usage}})
    used = usage_of(key="3/think/model:gpt/5-mini/2", value=value)
    assert used == Usage(model="gpt/5-mini", input_tokens=found[0], output_tokens=found[1])


@pytest.mark.parametrize("key", ["3/think/stamp/1", "model:gpt", "3/think/model:gpt", "3/think/model:/1"])
def test_what_is_no_answer_of_a_model(key: str) -> None:
    assert usage_of(key=key, value='{"value": {"usage": {"input_tokens": 1}}}') is None


def test_an_answer_that_is_no_object() -> None:
    assert usage_of(key="0/a/model:m/1", value="[1]") == Usage(model="m", input_tokens=0, output_tokens=0)


def test_prices_are_for_a_million_tokens() -> None:
    prices = {"m:input": 2.5, "m:output": 10.0}
    assert cost_micros(Usage(model="m", input_tokens=1000, output_tokens=100), prices) == 3500
    assert cost_micros(Usage(model="free", input_tokens=1000, output_tokens=100), prices) == 0
    assert [money(0), money(3500), money(12_345_678)] == ["0.00", "0.0035", "12.35"]


@pytest.mark.parametrize(
    ("waits", "left"),
    [
        ([], 100),
        ([(10, 30)], 80),
        ([(10, 30), (20, 40), (25, 35)], 70),
        ([(40, 50), (10, 20), (20, 30)], 70),
        ([(-50, 10), (90, 500)], 80),
        ([(-50, 500)], 0),
        ([(30, 10), (200, 300)], 100),
    ],
)
def test_time_of_waiting_does_not_count(waits: list[tuple[int, int]], left: int) -> None:
    def at(seconds: int) -> datetime:
        return T0 + timedelta(seconds=seconds)

    spans = [(at(begin), at(end)) for begin, end in waits]
    assert worked(span=(at(0), at(100)), waits=spans).total_seconds() == left


def test_a_branch_that_ended_before_it_began_has_worked_for_nothing() -> None:
    assert worked(span=(T0, T0 - timedelta(seconds=1)), waits=[]) == timedelta(0)
