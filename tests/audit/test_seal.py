"""Events get their places and a signature, once, in order, whoever seals and whatever kills it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from reviewhub_agents.verify_audit import verify_bundle

from reviewhub.accounts.models import Workspace
from reviewhub.audit import keys, remembered, statement
from reviewhub.audit.erase import erase
from reviewhub.audit.lag import lag
from reviewhub.audit.models import Chain, Event, Position, Seal, SealKey
from reviewhub.audit.rotate_key import rotate_key
from reviewhub.audit.seal import due, seal, seal_all, seal_workspace
from reviewhub.audit.testing import unguarded
from reviewhub.audit.verify import verify
from reviewhub.core import faults
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import Conflict
from tests.audit.test_record import WORKSPACE, write
from tests.audit.waiting import settle
from tests.checkpoints.test_killed import ROOT, address, until_its_server_side_is_gone
from tests.racing import together

OTHER = uuid.UUID("01890000-0000-7000-8000-000000000002")


def written(count: int, **fields: Any) -> list[int]:
    return [write(**fields).pk for _ in range(count)]


def whole(workspace_id: uuid.UUID = WORKSPACE) -> tuple[int, int]:
    """Seals and events of a record that holds."""
    found = verify(workspace_id)
    assert found.broken is None, found.broken
    return found.seals, found.events


@pytest.mark.django_db
@pytest.mark.usefixtures("at_once")
class TestSealing:
    def test_places_are_dense_and_the_documented_bytes_are_what_is_signed(self, audit_keys: Path) -> None:
        first, other, second = written(2), written(1, workspace_id=OTHER), written(3)
        assert due() == [WORKSPACE, OTHER]
        assert seal(WORKSPACE, batch=4) and seal(WORKSPACE, batch=4) and seal(WORKSPACE) is None
        assert seal_all() == 1 and due() == []
        rows = list(Position.objects.filter(workspace_id=WORKSPACE).order_by("position"))
        assert [row.event_id for row in rows] == [*first, *second]
        assert [row.position for row in rows] == [1, 2, 3, 4, 5]
        assert Position.objects.get(event_id=other[0]).position == 1

        chain = bytes(32)
        for row in rows:
            leaf = bytes(Event.objects.get(pk=row.event_id).leaf)
            place = row.position.to_bytes(8, "big")
            chain = hashlib.sha256(b"reviewhub chain 1\n" + chain + place + leaf).digest()
            assert bytes(row.chain) == chain
        one, two = Seal.objects.filter(workspace_id=WORKSPACE).order_by("number")
        said = json.loads(two.statement)
        assert two.statement == json.dumps(said, sort_keys=True, separators=(",", ":"))
        assert said["chain"] == chain.hex() and (said["first"], said["last"]) == (5, 5)
        assert said["previous"] == hashlib.sha256(one.statement.encode()).hexdigest()
        key = SealKey.objects.get()
        assert said["key"] == key.public
        assert keys.is_signed(
            key.public, b"reviewhub seal 1\n" + two.statement.encode(), bytes(two.signature)
        )
        assert not keys.is_signed(key.public, two.statement.encode(), bytes(two.signature))
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in audit_keys.glob("*.p*")}
        assert files == {f"{key.public[:16]}.pem": 0o600, f"{key.public[:16]}.pub": 0o600}
        assert (whole(), whole(OTHER)) == ((2, 5), (1, 1))

    def test_an_erased_event_still_holds(self) -> None:
        ids = written(3)
        seal_all()
        erase(workspace_id=WORKSPACE, event_ids=ids[:2], actor=SYSTEM, because="asked for")
        found = verify(WORKSPACE)
        assert (found.broken, found.events, found.erased, found.waiting) == (None, 3, 2, 1)

    def test_without_its_key_sealing_stops_and_says_so_and_goes_on_when_it_is_back(
        self, audit_keys: Path
    ) -> None:
        Workspace.objects.create(pk=WORKSPACE, slug="w", name="W")
        written(1)
        seal_all()
        written(2)
        (pem,) = audit_keys.glob("*.pem")
        hidden = pem.rename(audit_keys / "away")
        assert seal_all() == 0
        found = lag(WORKSPACE)
        assert found.problem == f"The key file {pem.name} is not there."
        assert (found.sealed, found.waiting) == (1, 2) and found.seconds > 0
        with pytest.raises(CommandError, match="is not there"):
            call_command("audit", "seal")
        with pytest.raises(CommandError, match="is not there"):
            call_command("audit", "export", "--workspace", "w")
        pem.write_text("no key")
        assert seal_all() == 0 and "cannot be read" in lag(WORKSPACE).problem
        pem.unlink()
        with pytest.raises(keys.KeyMissing):
            rotate_key(actor=SYSTEM)
        hidden.rename(pem)
        assert seal_all() == 2
        assert (lag(WORKSPACE).problem, lag(WORKSPACE).waiting) == ("", 0)
        out = audit_keys / "export"
        call_command("audit", "export", "--workspace", "w", "--since", "2020-01-01", "--out", str(out))
        assert (
            verify_bundle(lambda: out.read_bytes().splitlines(keepends=True), [keys.newest().public]).events
            == 3
        )
        with pytest.raises(CommandError, match="File exists"):
            call_command("audit", "export", "--workspace", "w", "--out", str(out))

    def test_a_key_hands_over_to_the_next_in_its_last_seal(self) -> None:
        written(2)
        seal_all()
        old = keys.newest().public
        written(1)
        with pytest.raises(Conflict):
            rotate_key(actor=SYSTEM, lost=True)
        new = rotate_key(actor=SYSTEM).public
        written(2)
        assert seal_all() == 4
        said = [statement.read(one.statement) for one in Seal.objects.order_by("number")]
        assert [(one.last, one.key, one.next) for one in said] == [(2, old, ""), (4, old, new), (6, new, "")]
        assert whole() == (3, 6)
        written(1, workspace_id=OTHER)
        seal_all()
        assert statement.read(Seal.objects.get(workspace_id=OTHER).statement).key == new
        # Only those who have the old key's word, or were told, believe the new one.
        assert "is not one of the trusted ones" in str(verify(WORKSPACE, trusted=frozenset({old})).broken)

    def test_a_lost_key_is_followed_by_one_that_it_did_not_name(self, audit_keys: Path) -> None:
        written(1)
        seal_all()
        next(audit_keys.glob("*.pem")).unlink()
        written(1)
        new = rotate_key(actor=SYSTEM, lost=True).public
        assert seal_all() == 2
        last = statement.read(Seal.objects.latest("number").statement)
        assert (last.key, last.next, whole()) == (new, "", (2, 3))

    def test_an_event_that_names_a_key_without_a_file_hands_nothing_over(self, audit_keys: Path) -> None:
        written(1)
        seal_all()
        rotate_key(actor=SYSTEM)
        keys._path(keys.newest().public, "pem").unlink()
        written(1)
        assert seal_all() == 2
        assert {statement.read(one.statement).next for one in Seal.objects.all()} == {""}

    def test_a_restored_backup_is_found_and_recorded(self) -> None:
        written(1)
        seal_all()
        point = transaction.savepoint()
        written(2)
        seal_all()
        memory = remembered.recall(WORKSPACE)
        transaction.savepoint_rollback(point)
        assert memory and str(verify(WORKSPACE).broken).startswith("seal 2: the seal that was made at ")
        written(1)
        assert seal_all() == 2
        told = Event.objects.get(kind="audit.set_back").payload
        assert told.sentence == "The record was set back from seal 2 to seal 1"
        assert memory.statement in told.body
        assert whole() == (2, 3)


@pytest.mark.django_db(transaction=True)
class TestTogether:
    def test_two_sealers_and_writers_at_once(self) -> None:
        def writes() -> None:
            for _ in range(5):
                with transaction.atomic():
                    written(3)

        def seals() -> None:
            for _ in range(6):
                for workspace_id in due():
                    seal(workspace_id, batch=7)

        results = together(writes, seals, writes, seals)
        assert [one for one in results if one is not None] == []
        settle()
        seal_all()
        assert whole()[1] == Event.objects.count() == 30
        in_order = Event.objects.order_by("xid", "id").values_list("pk", flat=True)
        assert list(Position.objects.order_by("position").values_list("event_id", flat=True)) == list(
            in_order
        )

    @pytest.mark.parametrize("place", ["seal.positions", "seal.before_commit", "seal.after_commit"])
    def test_a_sealer_that_dies_leaves_nothing_half(self, place: str) -> None:
        with transaction.atomic():
            written(3)
        settle()
        due()
        with faults.armed(place), pytest.raises(faults.Fault):
            seal_workspace(WORKSPACE)
        kept = 3 if place == "seal.after_commit" else 0
        assert (Position.objects.count(), Seal.objects.count()) == (kept, kept // 3)
        assert seal_all() == 3 - kept
        assert whole() == (1, 3)

    def test_after_a_restore_into_another_cluster_nothing_is_left_out(self) -> None:
        with transaction.atomic():
            ids = written(4)
        settle()
        due()
        with unguarded():
            # The last one was written by an older transaction: it comes first, and the second never was sealed.
            for xid, pk in enumerate([ids[3], ids[0], ids[2]], start=1):
                Event.objects.filter(pk=pk).update(xid=xid)
            Event.objects.filter(pk=ids[1]).update(xid=10**15)
            if seal(WORKSPACE) is None:
                raise AssertionError
            Event.objects.update(xid=0)
        if Position.objects.count() == 4:
            return  # SQLite counts no transactions
        Chain.objects.update(xid=-1, event_id=-1)
        assert seal_all() == 1
        assert [row.event_id for row in Position.objects.order_by("position")] == [
            ids[3],
            ids[0],
            ids[2],
            ids[1],
        ]
        assert whole() == (2, 4)
        assert seal_all() == 0 and due() == []


SEALS = """
import django
django.setup()
from reviewhub.core import faults
from reviewhub.audit import seal
faults.arm_from_environment()
for workspace_id in seal.due():
    while seal.seal(workspace_id, batch=2):
        pass
"""


@pytest.mark.servers
@pytest.mark.django_db(transaction=True)
def test_a_sealer_that_is_killed_in_its_second_seal_leaves_the_first(audit_keys: Path) -> None:
    with transaction.atomic():
        written(5)
    settle()
    environment = {
        **os.environ,
        "DATABASE_URL": address(),
        "DJANGO_SETTINGS_MODULE": "reviewhub.settings",
        "AUDIT_KEYS": str(audit_keys),
        "REVIEWHUB_FAULT": "seal.positions:kill:2",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'agents'}",
    }
    done = subprocess.run([sys.executable, "-c", SEALS], env=environment, cwd=ROOT, timeout=120)
    assert done.returncode == -signal.SIGKILL
    until_its_server_side_is_gone()
    assert (Seal.objects.count(), Position.objects.count()) == (1, 2)
    settle()
    assert seal_all() == 3
    assert whole() == (2, 5)
