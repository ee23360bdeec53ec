"""Fault points: each is passed by the code, and at each of them a test lets something die or fail."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from reviewhub.core import faults

ROOT = Path(__file__).resolve().parent.parent.parent


def texts(folder: str) -> dict[Path, str]:
    """Every module below a folder."""
    return {path: path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py")}


def test_what_is_registered_is_what_the_code_passes() -> None:
    passed = Counter(
        name for text in texts("reviewhub").values() for name in re.findall(r'faults\.point\("(.+?)"\)', text)
    )
    assert sorted(passed) == sorted(faults.POINTS)


@pytest.mark.parametrize("point", faults.POINTS)
def test_a_test_kills_at_each_point(point: str) -> None:
    # Dice that fall on all of them do not count: they may fall elsewhere.
    naming = [path for path, text in texts("tests").items() if re.search(rf'"{re.escape(point)}[":]', text)]
    assert naming, f"no test lets anything die at {point}"


def test_nothing_is_armed_by_a_name_that_is_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, why in (("nowhere:kill", "unknown fault point"), ("fork.before_commit:burn", "unknown act")):
        monkeypatch.setenv("REVIEWHUB_FAULT", said)
        with pytest.raises(ValueError, match=why):
            faults.arm_from_environment()
    with pytest.raises(ValueError, match="unknown fault point"), faults.armed("nowhere"):
        pass
    assert not faults._armed
