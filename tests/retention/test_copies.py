"""Of an erased run no copy stays beside the tables: no e-mail in the folder, no word in SQLite's files."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as settings_of_django
from django.core.mail import EmailMessage, get_connection
from django.db import connection

from reviewhub.core.clock import now
from reviewhub.deliveries import folder
from reviewhub.deliveries import send as sending
from reviewhub.deliveries.models import Email
from reviewhub.deliveries.send import due, send
from reviewhub.runs.models import Run
from tests.cast import make_cast
from tests.driver import agent_of
from tests.retention import test_erase as erasing

WHO = "Ann-Quokka"


@pytest.fixture
def mails(settings: Any, tmp_path: Path) -> Path:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path)
    return tmp_path


def said(place: Path) -> str:
    return "".join(path.read_text() for path in sorted(place.iterdir()))


def kept() -> list[str]:
    """SQLite's files in which the word stands."""
    path = Path(connection.settings_dict["NAME"])
    files = [path, path.with_name(f"{path.name}-wal")]
    return [one.name for one in files if one.exists() and WHO.encode() in one.read_bytes()]


@pytest.mark.django_db(transaction=True)
def test_no_copy_stays_beside_the_tables(mails: Path, settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(erasing, "ANN", WHO)
    cast = make_cast()
    agent = agent_of(cast.support)
    run = Run.objects.get(pk=erasing.ended(agent, cast))
    number = run.requests.get().number
    for one in due():
        send(one)
    assert f"/requests/{number}" in said(mails)
    theirs = [
        EmailMessage(f"mail {at}", f"see {settings.PUBLIC_URL}/{path}", to=["bob@example.com"])
        for at, path in enumerate((f"northwind/requests/{number}0", f"other/requests/{number}"))
    ]
    ours = EmailMessage(
        "one of three", f"ü {settings.PUBLIC_URL}/northwind/requests/{number}", to=["x@example.com"]
    )
    get_connection().send_messages([theirs[0], ours, theirs[1]])
    if connection.vendor == "sqlite":
        assert kept()
    erasing.erased(cast)
    left = said(mails)
    assert ("one of three" in left, left.count("see http"), left.count("Subject: ")) == (False, 2, 2)
    if connection.vendor == "sqlite":
        assert kept() == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite only")
def test_what_is_freed_is_overwritten_whatever_sqlite_was_built_with() -> None:
    plain = sqlite3.connect(":memory:")
    plain.execute("PRAGMA secure_delete=OFF")
    plain.executescript(settings_of_django.DATABASES["default"]["OPTIONS"]["init_command"])
    assert plain.execute("PRAGMA secure_delete").fetchone() == (1,)


@pytest.mark.django_db
def test_what_is_erased_while_it_is_sent_is_no_file_afterwards(
    mails: Path, cast: Any, monkeypatch: Any
) -> None:
    row = Email.objects.create(
        workspace=cast.workspace, to="bob@example.com", subject="s", body=f"{WHO}\nwaits", next_at=now()
    )

    class Sent(EmailMessage):
        def send(self, *args: Any, **more: Any) -> int:
            Email.objects.all().delete()
            return super().send(*args, **more)

    monkeypatch.setattr(sending, "EmailMessage", Sent)
    send(row.pk)
    assert list(mails.iterdir()) == []


def test_where_there_is_no_folder_nothing_is_forgotten(settings: Any, tmp_path: Path) -> None:
    settings.EMAIL_FILE_PATH = str(tmp_path / "none")
    assert folder.forget(lambda words: True) == 0
