"""The audit page says whether an entry is proven, and gives the proof along."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from reviewhub_agents import verify_audit
from reviewhub_agents.verify_audit import verify_bundle

from reviewhub.accounts.kinds import TeamMade
from reviewhub.accounts.models import Member
from reviewhub.audit import keys, lag, seal
from reviewhub.audit.erase import erase
from reviewhub.audit.horizon import Holder
from reviewhub.audit.models import Event, EventPayload, Position, Seal
from reviewhub.audit.record import record
from reviewhub.audit.rotate_key import rotate_key
from reviewhub.core.actors import SYSTEM
from tests.audit.conftest import tampering
from tests.cast import ALICE, Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(
    cast: Cast,
    as_: Callable[[Member], Client],
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], Any]:
    """Carol's audit page; what the test's open transaction wrote counts as settled."""
    settings.AUDIT_KEYS = tmp_path
    monkeypatch.setattr(seal, "horizon", lambda: None)
    carol = as_(cast.carol)
    return lambda rest: carol.get(f"/northwind/audit{rest}")


def team(cast: Cast, name: str) -> int:
    event = record("team.made", workspace_id=cast.workspace.pk, actor=ALICE, data=TeamMade(name=name))
    return event.id


def test_an_entry_waits_is_proven_and_its_proof_can_be_taken_along(
    cast: Cast, page: Callable[[str], Any]
) -> None:
    first, second = team(cast, "Night shift"), team(cast, "Day shift")
    assert "Nothing is sealed yet" in page("").content.decode()
    assert "waits for its seal" in page(f"?event={first}").content.decode()
    refused = page(f"/{first}/proof")
    assert refused.status_code == 409 and "sealing takes some seconds" in refused.content.decode()
    newest = Event.objects.latest("id").pk
    seal.seal_all()
    newest_position = Position.objects.count()
    shown = page(f"?event={first}").content.decode()
    assert f"Sealed up to entry {newest}" in shown
    public = keys.newest().public
    command = f"python verify_audit.py FILE --key {public}"
    for words in ("holds", "1, in seal 1", f'data-copy="{public}"', f"/audit/{first}/proof", command):
        assert words in shown, words
    erase(workspace_id=cast.workspace.pk, event_ids=[second], actor=SYSTEM, because="asked for")
    assert "Its words were erased" in page(f"?event={second}").content.decode()

    for rest, events in ((f"/{first}/proof", 1), ("/export", newest_position), ("/export?q=night&kind=", 1)):
        answer = page(rest)
        assert answer.status_code == 200, rest
        lines = list(io.BytesIO(answer.getvalue()))
        assert verify_bundle(lambda lines=lines: lines, [keys.newest().public]).events == events
    told = Event.objects.filter(kind="audit.exported").latest("id").payload.sentence
    assert told == "Carol exported what fits “q night” of the sealed record"
    assert page("/verify_audit.py").content == Path(verify_audit.__file__).read_bytes()
    assert page("/999999/proof").status_code == 404


def test_every_public_key_can_be_seen_whole_and_copied(cast: Cast, page: Callable[[str], Any]) -> None:
    assert "There is no key yet" in page("").content.decode()
    pk = team(cast, "Night shift")
    seal.seal_all()
    old = keys.newest().public
    rotate_key(actor=SYSTEM)
    team(cast, "Day shift")
    seal.seal_all()
    new, shown = keys.newest().public, page("").content.decode()
    for public in (old, new):
        assert f"<code>{public}</code>" in shown and f'data-copy="{public}"' in shown
    assert shown.index(f"<code>{new}</code>") < shown.index(f"<code>{old}</code>"), "the newest first"
    signed = page(f"?event={pk}").content.decode().split("Signed by", 1)[1]
    assert f"<code>{old}</code>" in signed and f"python verify_audit.py FILE --key {new}" in signed


def test_what_sealing_waits_for_is_on_the_page_and_on_the_start_page(
    cast: Cast, page: Callable[[str], Any], as_: Callable[[Member], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    team(cast, "Night shift")
    assert "Sealing waits" not in page("").content.decode()
    monkeypatch.setattr(lag, "LATE", 0)
    assert "no sealer has come by" in page("").content.decode()
    held = Holder(pid=7, role="ops", program="<b>\u202enight", seconds=900.0)
    monkeypatch.setattr(lag, "holder", lambda xid: held)
    start = as_(cast.carol).get("/northwind/start")
    for shown in (page("").content.decode(), start.content.decode()):
        assert "open for 15 m: process 7 (role ops, &lt;b&gt;" in shown and "\u202e" not in shown
    assert "process 7" not in as_(cast.bob).get("/northwind/start").content.decode()


@pytest.mark.parametrize(
    ("alter", "words"),
    [
        (lambda: EventPayload.objects.update(body="{}"), "the words are not those that were recorded"),
        (
            lambda: [
                EventPayload.objects.update(erased_at="2026-01-01T00:00Z"),
                Event.objects.update(leaf=b"x" * 32),
            ],
            "the event is not the one that was sealed at this position",
        ),
        (lambda: Seal.objects.update(signature=b"s" * 64), "the signature is not that of the seal"),
        (lambda: Seal.objects.update(statement="{}"), "the statement of the seal cannot be read"),
    ],
)
def test_what_was_altered_is_said(
    cast: Cast, page: Callable[[str], Any], alter: Callable[[], object], words: str
) -> None:
    pk = team(cast, "Night shift")
    seal.seal_all()
    with tampering():
        alter()
        shown = page(f"?event={pk}").content.decode()
        assert "does not hold" in shown and words in shown


def test_a_missing_key_is_told_and_stops_nothing_else(
    cast: Cast, page: Callable[[str], Any], tmp_path: Path
) -> None:
    team(cast, "Night shift")
    seal.seal_all()
    next(tmp_path.glob("*.pem")).unlink()
    with transaction.atomic():
        team(cast, "<b>Day</b>")
    seal.seal_all()
    shown = page("").content.decode()
    assert "The record is not being sealed." in shown and "is not there." in shown
    assert page("/export").status_code == 503
