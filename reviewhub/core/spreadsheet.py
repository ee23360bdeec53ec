"""Rows as CSV that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

# What spreadsheets begin a formula with, also in full width, and what they cut off before they look.
_STARTS = tuple("=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20")
Cell = str | int | float | None


def as_csv(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """The rows with their head, lines ended as RFC 4180 says; None is an empty cell, numbers stay numbers."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([safe(one) for one in head])
    writer.writerows([safe(one) for one in row] for row in rows)
    return out.getvalue()


def safe(cell: Cell) -> Cell:
    """A cell as it may stand in a file: a text that would be read as a formula is led by an apostrophe."""
    if not isinstance(cell, str):
        return cell
    return f"'{cell}" if cell.lstrip(" \u00a0\ufeff").startswith(_STARTS) else cell
