"""docs/audit.md has every field of statements, bundles and receipts, and no other."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

from reviewhub_agents import verify_audit

from reviewhub.audit.statement import Statement
from reviewhub.gates import receipts

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text()


def rows(after: str) -> list[list[str]]:
    """The cells of the table that follows these words."""
    table = PAGE.partition(after)[2].split("\n\n|", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in table.splitlines()[2:]]


def names(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_0-9]+)`", re.sub(r"\([^)]*\)", "", text)))


def test_the_statement() -> None:
    documented = set().union(*(names(key) for key, _ in rows("keys sorted, no white space:")))
    assert documented == {field.name for field in fields(Statement)} | {"version"}
    assert documented == set(verify_audit.STATEMENT)


def test_the_bundle() -> None:
    found = {name.split("`")[1]: names(said) for name, said in rows("ended by one line feed.")}
    assert found["header"] == set(verify_audit.HEADER)
    assert found["event"] == set(verify_audit.EVENT) | {"salt", "body", "erased_at", "path"}
    assert found["end"] == set(verify_audit.END)
    assert found["seal"] == {"statement", "signature"}


def test_the_receipts() -> None:
    documented = set().union(
        *(names(fact) for _, fact, _ in rows("`reviewhub_agents.canonical.digest` gives."))
    )
    made: set[str] = set()
    for part in (receipts._about, receipts._decided, receipts._ended):
        made |= set(re.findall(r'^ {8}"([a-z_]+)": ', inspect.getsource(part), re.MULTILINE))
    assert documented == made
