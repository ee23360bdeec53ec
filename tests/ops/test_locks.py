"""The locks hold what every Python that the project allows needs, not only the one that made them."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]

PYTHONS = ("3.11.0", "3.11.2", "3.11.3", "3.12.0", "3.13.0", "3.14.0")
"""The oldest that is allowed, Debian 12's, and where the conditions of packages are known to change."""


def locked(lock: str) -> set[str]:
    """The names in a lock."""
    text = (ROOT / "requirements" / lock).read_text()
    return {canonicalize_name(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)}


def needed(name: str, python: str) -> set[str]:
    """What a package asks for under a Python, without extras."""
    where = {"python_full_version": python, "python_version": python.rpartition(".")[0], "extra": ""}
    asked = [Requirement(line) for line in requires(name) or ()]
    return {canonicalize_name(one.name) for one in asked if not one.marker or one.marker.evaluate(where)}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", ["base.txt", "dev.txt"])
def test_nothing_is_missing(lock: str, python: str) -> None:
    names = locked(lock)
    missing = {name: needed(name, python) - names for name in names}
    assert {name: more for name, more in missing.items() if more} == {}
