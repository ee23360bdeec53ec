"""Races and random kills, many of each, as a table with its command and commit.

    python benchmarks/chaos.py [--decisions 1000] [--races 200] [--kills 500]
        [--postgresql postgresql://user@host:port/name] [--write]

Plays tests/chaos on SQLite, and on PostgreSQL when it is named: an approval and a rejection of one request at once so
many times, every other race so many times, and so many kills of workers and deciders of the support agent, of the
triage agent with its child runs, and under recorded talks until they end (each as it was, and with several calls in a
turn; `REPLAY_FILE` names the recording). A row is only there when all that the tests compare was right: the ledger with
what really happened. `--write` puts the table into docs/engine.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "engine.md"
BEGIN, END = "<!-- chaos -->\n", "<!-- end of chaos -->"
RACES = ("tests/chaos/test_races.py",)
DECISIONS = "decide_decide"
KILLS = (
    "tests/chaos/test_kills.py::test_killed_again_and_again",
    "tests/chaos/test_families.py::test_killed_again_and_again",
    "tests/chaos/test_recorded.py",
)
HEAD = (
    "| database | what | how many | runs | effects expected | effects done | asked of a person | twice | lost |",
    "|---|---|---|---|---|---|---|---|---|",
)


def main() -> int:
    """Plays, and prints or writes the table; 1 when something was not right."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--decisions", type=int, default=1000)
    given.add_argument("--races", type=int, default=200)
    given.add_argument("--kills", type=int, default=500)
    given.add_argument("--postgresql", default="")
    given.add_argument("--write", action="store_true")
    options = given.parse_args()
    rows, failed = [], False
    for address in filter(None, ("sqlite", options.postgresql)):
        for tests, rounds in ((RACES, options.races), (KILLS, options.kills)):
            code, found = played(tests, rounds=rounds, decisions=options.decisions, address=address)
            failed = failed or code != 0
            rows += found
    table = "\n".join([*HEAD, *lines(rows), "", said(options)])
    print(table)
    if failed:
        print("A test failed: this is no table for the docs.", file=sys.stderr)
        return 1
    if options.write:
        write(table)
    return 0


def played(
    tests: tuple[str, ...], *, rounds: int, decisions: int, address: str
) -> tuple[int, list[dict[str, Any]]]:
    """Runs tests so many rounds on one database: pytest's exit code, and what they noted."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures"
        mine: Mapping[str, str] = {
            "CHAOS_ROUNDS": str(rounds),
            "CHAOS_DECISIONS": str(decisions),
            "CHAOS_FIGURES": str(figures),
            "REVIEWHUB_VAR": folder,
            **({} if address == "sqlite" else {"DATABASE_URL": address}),
        }
        kept = {
            name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *tests], cwd=ROOT, env={**kept, **mine}, check=False
        )
        text = figures.read_text() if figures.exists() else ""
    return done.returncode, [json.loads(line) for line in text.splitlines()]


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The table's rows; the races of a database are two: those of two answers, and all others."""
    for database in dict.fromkeys(row["database"] for row in rows):
        here = [row for row in rows if row["database"] == database]
        races = [row for row in here if row["what"] == "race"]
        for what, of in (
            ("an approval and a rejection at once", [row for row in races if row["race"] == DECISIONS]),
            ("other races", [row for row in races if row["race"] != DECISIONS]),
        ):
            if of:
                kinds = f"{len(of)} kinds, " if len(of) > 1 else ""
                many = f"{kinds}{min(row['rounds'] for row in of):,}{' of each' if kinds else ''}"
                yield f"| {database} | {what} | {many} | | | | | nothing | nothing |"
        for row in here:
            if row["what"] != "race":
                figures = " | ".join(f"{row[name]:,}" for name in ("runs", "expected", "done", "asked"))
                yield f"| {database} | {row['what']} | {row['kills']:,} | {figures} | nothing | nothing |"


def said(options: argparse.Namespace) -> str:
    """The command and the commit."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    servers = " --postgresql …" if options.postgresql else ""
    counts = f"--decisions {options.decisions} --races {options.races} --kills {options.kills}"
    return f"`python benchmarks/chaos.py {counts}{servers}` at {commit or 'no commit'}."


def write(table: str) -> None:
    """Puts the table between its marks."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
