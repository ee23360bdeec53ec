"""Static files of another version are noticed, whatever the times of the files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.finders import get_finder
from django.core.management import call_command

from reviewhub.ops.static_files import are_stale


@pytest.fixture
def source(tmp_path: Path, settings: Any) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.css").write_text("a { color: red }")
    settings.STATICFILES_DIRS = [folder]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "collected"
    get_finder.cache_clear()
    yield folder
    get_finder.cache_clear()


def test_what_was_never_collected_is_served_from_its_folder(source: Path) -> None:
    assert not are_stale()


@pytest.mark.parametrize("change", ["other", "more", "lost"])
def test_an_upgrade_makes_them_stale(source: Path, settings: Any, change: str) -> None:
    call_command("collectstatic", verbosity=0, interactive=False)
    assert not are_stale()
    if change == "other":
        (source / "a.css").write_text("a { color: blu }")
    elif change == "more":
        (source / "b.js").write_text("1")
    else:
        (Path(settings.STATIC_ROOT) / "a.css").unlink()
    assert are_stale()
