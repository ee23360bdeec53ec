"""Every template compiles, also those that no test's page happens to need."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.template.loader import get_template

TEMPLATES = Path(__file__).resolve().parent.parent.parent / "templates"
NAMES = sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.*") if path.is_file())


def test_there_are_templates() -> None:
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_compiles(name: str) -> None:
    get_template(name)
