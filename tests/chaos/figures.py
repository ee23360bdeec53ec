"""What races and kills came to, for the table of the docs: `benchmarks/chaos.py` names the file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from django.db import connection


def note(what: str, **figures: int | str) -> None:
    """One line, where somebody wants to have it."""
    if path := os.environ.get("CHAOS_FIGURES"):
        with Path(path).open("a") as file:
            file.write(json.dumps({"what": what, "database": connection.vendor, **figures}) + "\n")
