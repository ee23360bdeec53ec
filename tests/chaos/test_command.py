"""`manage.py chaos`: anybody's agent, killed again and again on a database of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
KILLS = str(min(int(os.environ.get("CHAOS_ROUNDS", "200")), 30))
# It plays on SQLite whatever the others play on, so once is enough.
pytestmark = pytest.mark.skipif("DATABASE_URL" in os.environ, reason="played in the run on SQLite")
BATCH = '{"documents": 25, "speed": 60000}'


def chaos(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in the environment of an installation that must stay as it is."""
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return subprocess.run(
        [sys.executable, "manage.py", "chaos", *arguments],
        cwd=ROOT,
        env={**kept, "REVIEWHUB_VAR": str(tmp_path / "var")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("agent", "more"), [("support", ()), ("migration", ()), ("claims", ("--input", BATCH))]
)
def test_nothing_is_lost_and_nothing_done_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: str, more: tuple[str, ...]
) -> None:
    done = chaos(tmp_path, agent, "--kills", KILLS, *more)
    with capsys.disabled():
        print(f"\n{done.stdout}")
    assert done.returncode == 0, done.stdout + done.stderr
    table = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in done.stdout.splitlines()[1:])
    assert int(table["faults injected"]) >= int(KILLS)
    assert table["effects expected"] == table["effects done"]
    assert (table["twice"], table["lost"]) == ("nothing", "nothing")
    # It plays elsewhere: no database was made here.
    assert not (tmp_path / "var" / "reviewhub.sqlite3").exists()


def test_one_point_and_what_is_wrong(tmp_path: Path) -> None:
    done = chaos(tmp_path, "support", "--kills", "3", "--point", "consume.after_commit", "--runs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "consume.after_commit" in done.stdout
    done = chaos(tmp_path, "nobody")
    assert done.returncode != 0
    assert "no graph 'nobody'" in done.stderr
