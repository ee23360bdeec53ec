"""The address of the database and its password: whatever characters that has, and as the compose file gives both."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reviewhub.env import BadSetting
from reviewhub.settings import _database

ROOT = Path(__file__).resolve().parent.parent.parent
HARD = ["p@ss", "a:b", "a/b", "50%41", "#x?y=1", "a b&c", "$HOME", "'\"\\", "ü", "[::1]", "100%"]
SHOW = (
    "import json, django.conf; one = django.conf.settings.DATABASES['default'];"
    "print(json.dumps([one[name] for name in ('USER', 'PASSWORD', 'HOST', 'NAME')]))"
)


def composed() -> list[str]:
    """The addresses of databases that the compose file hands to the programs."""
    return re.findall(r"DATABASE_URL: (\S+)", (ROOT / "docker/compose.yaml").read_text())


@pytest.mark.parametrize("password", HARD)
def test_a_password_apart_from_the_address_is_taken_as_it_is(password: str) -> None:
    for url in composed():
        found = _database(url, password)
        assert (found["PASSWORD"], found["HOST"], found["NAME"]) == (password, "postgres", "reviewhub")


def test_the_compose_file_puts_no_password_into_an_address() -> None:
    text = (ROOT / "docker/compose.yaml").read_text()
    assert len(composed()) == 2
    assert all(":" not in url.partition("://")[2] and "$" not in url for url in composed())
    assert len(re.findall(r"DATABASE_PASSWORD: \$\{POSTGRES_(?:APP_)?PASSWORD:\?", text)) == 2


def test_the_programs_read_it_from_the_environment_or_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("p@ss/wo:rd%\n")
    for more in ({"DATABASE_PASSWORD": "p@ss/wo:rd%"}, {"DATABASE_PASSWORD_FILE": str(secret)}):
        given = {"DATABASE_URL": composed()[0], "DJANGO_SETTINGS_MODULE": "reviewhub.settings", **more}
        kept = {
            "PATH": os.environ["PATH"],
            "REVIEWHUB_VAR": str(tmp_path),
            "PYTHONPATH": f"{ROOT}:{ROOT}/agents",
        }
        told = subprocess.run(
            [sys.executable, "-c", SHOW], env={**kept, **given}, capture_output=True, text=True, cwd=ROOT
        )
        assert told.stdout.strip() == '["reviewhub_app", "p@ss/wo:rd%", "postgres", "reviewhub"]', told.stderr


def test_two_passwords_are_one_too_many() -> None:
    with pytest.raises(BadSetting, match="DATABASE_PASSWORD"):
        _database("postgresql://u:one@h/d", "two")
    assert _database("postgresql://u:o%40ne@h/d", "")["PASSWORD"] == "o@ne"
    assert "PASSWORD" not in _database("", "two"), "SQLite has none"
