"""`docs/settings.md` and `docs/dependencies.md` name what there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
READERS = re.compile(r"env\.(?:text|flag|number|words|pairs|amounts)\(\s*\"([A-Z_]+)\"")
ELSEWHERE = {"HOST", "PORT", "FORWARDED_ALLOW_IPS", "WORKER_THREADS"}
"""Read by a command, the server or the container, not by the settings."""


def documented(text: str) -> set[str]:
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}


def test_every_setting_is_documented_and_nothing_else() -> None:
    read = set(READERS.findall((ROOT / "reviewhub/settings.py").read_text()))
    assert documented((ROOT / "docs/settings.md").read_text()) == read | ELSEWHERE


def test_every_dependency_has_its_reason() -> None:
    page = (ROOT / "docs/dependencies.md").read_text()
    used = page.partition("## Not used")[0]
    named = {
        name.strip()
        for line in used.splitlines()
        if line.startswith("| ") and not line.startswith("| package")
        for name in line.split("|")[1].split(",")
    }
    wanted = set()
    for path in (ROOT / "requirements").glob("*.in"):
        lines = [line for line in path.read_text().splitlines() if line and line[0] not in "-#"]
        wanted |= {re.split(r"[\[<>=]", line)[0].strip() for line in lines}
    assert named == wanted
