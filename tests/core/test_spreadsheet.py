"""CSV that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io

import pytest

from reviewhub.core.spreadsheet import as_csv, safe


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\ufeff=1", "\uff1d1", "\uff0b1",
     "\uff0d1", "\uff201", "\0=1", "=cmd|' /C calc'!A0"],
)  # fmt: skip
def test_what_would_be_a_formula_is_text(text: str) -> None:
    assert safe(text) == f"'{text}"


@pytest.mark.parametrize("cell", ["refund", "a=1", "", "'=1", -5, -0.5, None, "日本"])
def test_everything_else_stays(cell: str | float | None) -> None:
    assert safe(cell) == cell


def test_a_file_is_read_back_as_it_was_written() -> None:
    rows = [["=HYPERLINK(1)", 'say "a", b', -3], ["two\nlines", "plain", None]]
    text = as_csv(["+tool", "words", "many"], rows)
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["'+tool", "words", "many"],
        ["'=HYPERLINK(1)", 'say "a", b', "-3"],
        ["two\nlines", "plain", ""],
    ]
    assert text.endswith("\r\n")
