"""Calls that mean the same are found alike, however their numbers are written; others are not."""

from __future__ import annotations

import importlib

import pytest

from reviewhub.toolcalls.likeness import likeness

AT_MIGRATION = importlib.import_module("reviewhub.toolcalls.migrations.0007_alike").likeness


def of(arguments: str, tool: str = "refund") -> str:
    found = likeness(tool=tool, arguments=arguments)
    assert found == AT_MIGRATION(tool, arguments), "what ran before the upgrade is found, too"
    return found


@pytest.mark.parametrize(
    "spellings",
    [
        ["100", "100.0", "1e2", "1E+2", "100.000", "10e1", "0.1e3"],
        ["0", "0.0", "-0", "-0.00", "0e5"],
        ["-12.5", "-12.50", "-125e-1"],
        ["1e999", "10e998"],
        [f"1{'0' * 900}", "1e900"],
        [f"0.{'1' * 500}", f"0.{'1' * 500}000"],
        ['"10"', '"10.0"', '"10.00"'],
    ],
)
def test_alike(spellings: list[str]) -> None:
    assert len({of(f'{{"a":[{{"amount":{one}}}]}}') for one in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("100", "1000"),
        ("100", "-100"),
        ("100", '"100"'),
        ("0.1", "0.10000000000000000000000000000000000000001"),
        ('"007"', '"7"'),
        ('"1e2"', '"100"'),
        ("1", "true"),
        ("0", "null"),
        ("[1,2]", "[2,1]"),
        (f"1{'0' * 900}", f"1{'0' * 899}1"),
    ],
)
def test_not_alike(one: str, other: str) -> None:
    assert of(f'{{"a":{one}}}') != of(f'{{"a":{other}}}')


def test_of_other_tools() -> None:
    assert of("{}", "refund") != of("{}", "refunds")
