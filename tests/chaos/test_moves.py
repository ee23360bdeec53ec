"""A process that moves blobs to a store is killed hard, at every boundary and at random: every state reads as before.

`CHAOS_ROUNDS` says how many random kills (a tenth of it here, for each begins with new blobs).
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connections
from reviewhub_agents import wire

from reviewhub.accounts.models import AgentKey
from reviewhub.checkpoints.blobs import relocate as module
from reviewhub.checkpoints.blobs.clear import clear
from reviewhub.checkpoints.blobs.relocate import relocate
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import LARGE_BYTES, Blob, Checkpoint, Leftover
from reviewhub.core import faults
from reviewhub.core.clock import now
from reviewhub.runs.models import Branch
from reviewhub.runs.start import start
from tests.cast import Cast, by_key, make_test_agent
from tests.chaos import actors
from tests.checkpoints.blobs.conftest import forget, noise
from tests.checkpoints.conftest import put
from tests.checkpoints.test_killed import until_its_server_side_is_gone

# The server that forks is that of the other actors: it has Django loaded.
assert actors.ROOT.exists()
_server = multiprocessing.get_context("forkserver")
POINTS = ("blobs.listed", "blobs.put", "blobs.verified", "blobs.before_commit", "blobs.after_commit")
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "200")) // 10
BLOBS = 8
Texts = dict[uuid.UUID, str]


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """The store, for this process and those that are killed."""
    settings.BLOB_STORES = {"main": f"file://{tmp_path}"}
    settings.BLOB_LARGE_BYTES = LARGE_BYTES
    forget()
    return tmp_path


@pytest.mark.servers
@pytest.mark.django_db(transaction=True)
def test_killed_anywhere_it_loses_no_byte_and_the_next_one_goes_on(cast: Cast, folder: Path) -> None:
    key = make_test_agent(cast.support)[1]
    for point in POINTS:
        branch, texts = ended(key, seed=POINTS.index(point))
        # The second time: some have moved by then.
        assert moving(branch, f"{point}:kill:2").join_code() == -signal.SIGKILL, point
        until_its_server_side_is_gone()
        all_read(branch, texts)
        made_up_for(branch, texts)
    dice = random.Random(17)
    for number in range(max(ROUNDS, 1)):
        branch, texts = ended(key, seed=100 + number)
        moving(branch, "").kill_after(dice.uniform(0.02, 0.4))
        until_its_server_side_is_gone()
        all_read(branch, texts)
        made_up_for(branch, texts)
    assert in_store(folder) == located()


def ended(key: AgentKey, *, seed: int) -> tuple[Branch, Texts]:
    """A run that is over, with large blobs that nobody has moved yet, and what each of its states says."""
    branch = start(key=key, body=wire.RunStart(), actor=by_key(key))[0].branches.get()
    texts: Texts = {}
    for number in range(BLOBS):
        text = f'{{"doc":"{noise(1000 * seed + number)}","n":{number}}}'
        texts[put(branch, text).pk] = text
        branch.refresh_from_db()
    Branch.objects.filter(pk=branch.pk).update(state="succeeded")
    return branch, texts


class Moving:
    """A process that moves the blobs of a run, two at a time, and ends."""

    def __init__(self, branch: Branch, fault: str) -> None:
        name = str(connections["default"].settings_dict["NAME"])
        given = (name, dict(django_settings.BLOB_STORES), str(branch.run_id), fault)
        self.process = _server.Process(target=_main, args=given, daemon=True)
        self.process.start()

    def join_code(self) -> int | None:
        """How it ended."""
        self.process.join(60)
        return self.process.exitcode

    def kill_after(self, seconds: float) -> None:
        """SIGKILL, if it is not through before."""
        self.process.join(seconds)
        self.process.kill()
        self.process.join(60)
        assert self.process.exitcode in (0, -signal.SIGKILL)


def moving(branch: Branch, fault: str) -> Moving:
    return Moving(branch, fault)


def _main(database: str, stores: dict[str, str], run_id: str, fault: str) -> None:
    os.environ["REVIEWHUB_FAULT"] = fault
    connections["default"].settings_dict["NAME"] = database
    django_settings.BLOB_STORES = stores
    django_settings.BLOB_LARGE_BYTES = LARGE_BYTES
    module.BATCH = 2
    faults.arm_from_environment()
    relocate(run_id=uuid.UUID(run_id))


def all_read(branch: Branch, texts: Texts) -> None:
    """To the byte, by a process that remembers nothing; and each large blob is in one place at least."""
    forget()
    for row in Checkpoint.objects.filter(branch=branch):
        assert load(row) == texts[row.pk]
    assert not Blob.objects.filter(run_id=branch.run_id, data__isnull=True, location__isnull=True).exists()


def made_up_for(branch: Branch, texts: Texts) -> None:
    """The next one ends the move, and what the dead one left in the store goes."""
    relocate(run_id=branch.run_id)
    moved = Blob.objects.filter(run_id=branch.run_id, data__isnull=True, location__isnull=False)
    assert moved.count() == BLOBS
    Leftover.objects.update(due_at=now())
    clear(name="main")
    assert not Leftover.objects.exists()
    all_read(branch, texts)


def located() -> set[str]:
    """The keys of the store that rows name."""
    places = Blob.objects.filter(location__isnull=False).values_list("location", flat=True)
    return {str(place).partition("/")[2] for place in places}


def in_store(folder: Path) -> set[str]:
    """The keys of the store that are there."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {key for key in found if key.count("/") == 2}
