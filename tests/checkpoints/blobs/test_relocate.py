"""Large blobs leave the database when nothing that goes on needs them; nothing is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction

from reviewhub.checkpoints import change, recall
from reviewhub.checkpoints.blobs import fetch
from reviewhub.checkpoints.blobs.clear import clear
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.blobs.leave import leave
from reviewhub.checkpoints.blobs.protocol import StoreDown
from reviewhub.checkpoints.blobs.relocate import relocate
from reviewhub.checkpoints.blobs.sweep import WITH_LARGE, candidates, sweep
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.load import CorruptCheckpoint, load
from reviewhub.checkpoints.models import Blob, Checkpoint, Leftover, StoreState
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.core import faults
from reviewhub.core.clock import now
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.checkpoints.blobs.conftest import Store, forget, noise, state
from tests.checkpoints.conftest import BOB, new_run, put, put_message

POINTS = ["blobs.listed", "blobs.put", "blobs.verified", "blobs.before_commit", "blobs.after_commit"]


def end(branch: Branch, to: str = "succeeded") -> None:
    Branch.objects.filter(pk=branch.pk).update(state=to)


def read(checkpoint: Checkpoint) -> str:
    forget()
    return load(Checkpoint.objects.get(pk=checkpoint.pk))


def in_database(branch: Branch) -> int:
    large = [
        row for row in Blob.objects.filter(run_id=branch.run_id, data__isnull=False) if len(row.data) > 9_999
    ]
    return len(large)


@pytest.fixture
def ended(branch: Branch, store: Store) -> Checkpoint:
    saved = put(branch, state(1))
    end(branch)
    return saved


def test_a_large_blob_of_a_run_that_ended_moves_and_is_read_back(ended: Checkpoint, store: Store) -> None:
    assert relocate(run_id=ended.run_id) == 1
    (row,) = Blob.objects.filter(run_id=ended.run_id, location__isnull=False)
    (key,) = store.blobs
    assert (row.data, row.location, row.size) == (None, f"main/{key}", len(store.blobs[key]))
    assert key.startswith(f"{ended.workspace_id}/{ended.run_id}/{bytes(row.hash).hex()}.")
    assert Leftover.objects.count() == 0
    assert read(ended) == state(1)
    assert relocate(run_id=ended.run_id) == 0


def test_small_ones_stay(branch: Branch, store: Store) -> None:
    put(branch, f'{{"small":"{noise(1, 2_000)}"}}')
    end(branch)
    assert relocate(run_id=branch.run_id) == 0
    assert store.asked == []


def test_what_was_read_does_not_go_out_again(ended: Checkpoint, store: Store) -> None:
    relocate(run_id=ended.run_id)
    assert read(ended) == state(1)
    store.asked.clear()
    recall.forget_all()
    assert load(Checkpoint.objects.get(pk=ended.pk)) == state(1)
    assert store.asked == []


def test_many_are_read_in_one_go(branch: Branch, store: Store) -> None:
    saved = put(branch, f'{{"a":"{noise(1)}","b":"{noise(2)}","c":"{noise(3)}"}}')
    end(branch)
    assert relocate(run_id=branch.run_id) == 3
    store.asked.clear()
    read(saved)
    assert store.asked == ["get"]


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_anywhere_loses_nothing_and_a_repeat_is_harmless(
    ended: Checkpoint, store: Store, point: str
) -> None:
    with faults.armed(point), pytest.raises(faults.Fault):
        relocate(run_id=ended.run_id)
    assert read(ended) == state(1)
    relocate(run_id=ended.run_id)
    assert read(ended) == state(1)
    assert in_database(Branch.objects.get(run_id=ended.run_id)) == 0
    # Whatever the crash left in the store is on the list, and nothing else is.
    places = set(Blob.objects.filter(location__isnull=False).values_list("location", flat=True))
    listed = set(Leftover.objects.values_list("location", flat=True))
    assert {f"main/{key}" for key in store.blobs} <= places | listed
    assert not places & listed
    Leftover.objects.update(due_at=now())
    clear(name="main")
    assert {f"main/{key}" for key in store.blobs} == places
    assert read(ended) == state(1)


@pytest.mark.parametrize("point", ["blobs.going", "blobs.gone"])
def test_a_crash_while_removing_is_made_up_for(ended: Checkpoint, store: Store, point: str) -> None:
    relocate(run_id=ended.run_id)
    with transaction.atomic():
        leave(run_id=ended.run_id, hashes=[bytes(one) for one in Blob.objects.values_list("hash", flat=True)])
    with faults.armed(point), pytest.raises(faults.Fault):
        clear(name="main")
    assert Leftover.objects.count() == 1
    assert clear(name="main") == 1
    assert (store.blobs, Leftover.objects.count()) == ({}, 0)
    assert clear(name="main") == 0


def test_a_move_that_comes_too_late_does_not_end(ended: Checkpoint, store: Store) -> None:
    """Its leftover is being removed: a blob must not point there any more."""

    def removed_meanwhile() -> None:
        Leftover.objects.update(due_at=now())
        assert clear(name="main") == 1

    with faults.armed("blobs.verified", removed_meanwhile):
        assert relocate(run_id=ended.run_id) == 0
    assert store.blobs == {}
    assert read(ended) == state(1)


def test_nor_does_one_whose_bytes_are_about_to_be_removed(ended: Checkpoint, store: Store) -> None:
    """From the mark on, before the store is asked: whoever removes may be slow."""

    def marked_meanwhile() -> None:
        Leftover.objects.update(due_at=now())
        with faults.armed("blobs.going"), pytest.raises(faults.Fault):
            clear(name="main")

    with faults.armed("blobs.verified", marked_meanwhile):
        assert relocate(run_id=ended.run_id) == 0
    assert clear(name="main") == 1
    assert read(ended) == state(1)


def test_a_blob_is_checked_by_itself(ended: Checkpoint, store: Store) -> None:
    """Who follows one value through a history reads blobs and no whole state."""
    relocate(run_id=ended.run_id)
    forget()
    (key,) = store.blobs
    store.kept[key] = b'\x00"something else"'
    (hash_,) = Blob.objects.filter(data__isnull=True).values_list("hash", flat=True)
    with pytest.raises(BrokenCheckpoint, match="not the one"):
        fetch.packed(ended.run_id, [bytes(hash_)])


def test_a_store_that_is_down_changes_nothing(ended: Checkpoint, store: Store) -> None:
    store.is_down = True
    with pytest.raises(StoreDown):
        relocate(run_id=ended.run_id)
    assert read(ended) == state(1)
    assert sweep() == 0
    noted = StoreState.objects.get()
    assert (noted.problem, noted.failing_since is None) == ("it does not answer", False)
    store.is_down = False
    assert sweep() == 1
    noted.refresh_from_db()
    assert (noted.problem, noted.failing_since) == ("", None)


def test_a_store_that_gives_back_something_else_gets_nothing(ended: Checkpoint, store: Store) -> None:
    def lie() -> None:
        store.gives = dict.fromkeys(store.blobs, b"other")

    with faults.armed("blobs.put", lie), pytest.raises(StoreDown, match="give back"):
        relocate(run_id=ended.run_id)
    assert Blob.objects.filter(location__isnull=False).count() == 0


def test_damage_in_the_database_stays_there(ended: Checkpoint, store: Store) -> None:
    from tests.checkpoints.test_damage import damage

    damage(Blob.objects.filter(run_id=ended.run_id, data__isnull=False), data=b"\x00" + b"x" * 20_000)
    assert relocate(run_id=ended.run_id) == 0
    assert store.blobs == {}


@pytest.mark.parametrize("how", ["other", "cut", "gone"])
def test_damage_in_the_store_is_damage(ended: Checkpoint, store: Store, how: str) -> None:
    relocate(run_id=ended.run_id)
    (key,) = store.blobs
    if how == "gone":
        del store.kept[key]
    else:
        store.kept[key] = {"other": b"\x00other", "cut": store.kept[key][:-9]}[how]
    with pytest.raises(CorruptCheckpoint):
        read(ended)


def test_a_store_without_its_marker_is_not_believed(ended: Checkpoint, store: Store) -> None:
    """A mount that is missing, a bucket of the same name: nothing is damaged, and nothing is put there."""
    relocate(run_id=ended.run_id)
    kept, store.kept = store.kept, {}
    with pytest.raises(BlobsAway):
        read(ended)
    other = put(new_run_like(ended), state(2))
    end(other.branch)
    with pytest.raises(StoreDown, match="marker"):
        relocate(run_id=other.run_id)
    store.kept = kept
    assert read(ended) == state(1)


def new_run_like(checkpoint: Checkpoint) -> Branch:
    from reviewhub.runs.models import Run

    old = Run.objects.get(pk=checkpoint.run_id)
    run = Run.objects.create(
        workspace_id=old.workspace_id, agent=old.agent, environment=old.environment, state="running"
    )
    return Branch.objects.create(workspace_id=old.workspace_id, run=run, name="main")


def test_a_store_that_is_down_is_left_alone_for_a_while(ended: Checkpoint, store: Store) -> None:
    relocate(run_id=ended.run_id)
    store.is_down = True
    with pytest.raises(BlobsAway):
        read(ended)
    store.asked.clear()
    with pytest.raises(BlobsAway):
        load(Checkpoint.objects.get(pk=ended.pk))
    assert store.asked == []


def test_a_store_that_settings_name_no_more(ended: Checkpoint, store: Store, settings: Any) -> None:
    relocate(run_id=ended.run_id)
    settings.BLOB_STORES = {"other": "memory:"}
    with pytest.raises(BlobsAway):
        read(ended)


# What work that goes on may need stays.


@pytest.mark.parametrize("going", ["running", "paused", "resuming", "quarantined"])
def test_the_head_of_a_branch_that_goes_on_needs_no_store(branch: Branch, store: Store, going: str) -> None:
    put(branch, state(1))
    end(branch, going)
    assert relocate(run_id=branch.run_id) == 0
    assert store.asked == []


@pytest.mark.parametrize("over", ["succeeded", "failed", "cancelled", "superseded"])
def test_that_of_one_that_is_over_may_go(branch: Branch, store: Store, over: str) -> None:
    put(branch, state(1))
    end(branch, over)
    assert relocate(run_id=branch.run_id) == 1


@pytest.fixture
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest every four rows."""
    monkeypatch.setattr(change, "MANIFEST_ROWS", 4)


def test_old_blobs_of_a_branch_that_goes_on_move_and_new_ones_stay(
    branch: Branch, store: Store, short_segments: None
) -> None:
    first = put(branch, state(1))
    moved_after = []
    for _ in range(9):
        branch.refresh_from_db()
        last = put(branch, state(2))
        moved_after += [last.number] * relocate(run_id=branch.run_id)
    # It is among the checkpoints from the last manifest but one on until the third manifest is written.
    assert moved_after == [9]
    store.is_down = True
    with pytest.raises(BlobsAway):
        read(first)
    assert read(last) == state(2)
    forget()
    hints = {"append": {}, "unchanged": ["doc"], "changed": {"small": "x"}}
    put_message(branch, {"parent": str(last.pk), "parent_hash": last.state_hash, **hints})


def test_a_value_that_returns_brings_its_bytes_back(
    branch: Branch, store: Store, short_segments: None
) -> None:
    """Another branch of the run is over; this one's head names the same blob again, and must not need a store."""
    put(branch, state(1))
    twin = fork(checkpoint=Checkpoint.objects.get(), name="twin", changes=[], reason="", actor=BOB)[0]
    put(twin, '{"other":1}')
    for _ in range(9):
        twin.refresh_from_db()
        put(twin, '{"other":1}')
    end(branch)
    assert relocate(run_id=branch.run_id) == 1
    store.is_down = True
    twin.refresh_from_db()
    back = put(twin, state(1))
    assert read(back) == state(1)
    row = Blob.objects.get(run_id=branch.run_id, location__isnull=False)
    assert row.data is not None
    # It goes once more when it may; the bytes of the first time are removed.
    store.is_down = False
    end(twin)
    assert relocate(run_id=branch.run_id) == 1
    assert clear(name="main") == 1
    assert {f"main/{key}" for key in store.blobs} == {Blob.objects.get(hash=row.hash).location}
    assert read(back) == state(1)


def test_a_fork_brings_home_what_it_needs(ended: Checkpoint, store: Store) -> None:
    relocate(run_id=ended.run_id)
    forget()
    branch, first = fork(
        checkpoint=Checkpoint.objects.get(pk=ended.pk), name=None, changes=[], reason="", actor=BOB
    )
    store.is_down = True
    assert read(first) == state(1)
    assert relocate(run_id=ended.run_id) == 0
    forget()
    branch.refresh_from_db()
    put(branch, state(2))


def test_a_fork_whose_bytes_cannot_be_read_is_refused_and_makes_nothing(
    ended: Checkpoint, store: Store
) -> None:
    relocate(run_id=ended.run_id)
    forget()
    store.is_down = True
    with pytest.raises(BlobsAway):
        fork(checkpoint=Checkpoint.objects.get(pk=ended.pk), name=None, changes=[], reason="", actor=BOB)
    assert Branch.objects.filter(run_id=ended.run_id).count() == 1


def test_a_blob_that_a_head_names_while_it_moves_stays(branch: Branch, store: Store) -> None:
    """The head is looked at again, inside the transaction."""
    saved = put(branch, state(1))
    end(branch)

    def forked() -> None:
        fork(checkpoint=Checkpoint.objects.get(pk=saved.pk), name=None, changes=[], reason="", actor=BOB)

    with faults.armed("blobs.verified", forked):
        assert relocate(run_id=branch.run_id) == 0
    store.is_down = True
    assert read(saved) == state(1)
    assert Leftover.objects.count() == 1


def test_nothing_in_saving_asks_a_store(branch: Branch, store: Store) -> None:
    store.is_down = True
    saved = put(branch, state(1))
    forget()
    hints = {"unchanged": ["doc", "small"], "changed": {"n": "1"}}
    put_message(branch, {"parent": str(saved.pk), "parent_hash": saved.state_hash, **hints})
    forget()
    branch.refresh_from_db()
    put(branch, state(2))
    assert store.asked == []


# The sweep.


def test_the_sweep_takes_runs_that_ended_first(cast: Cast, store: Store) -> None:
    going = new_run(cast).branches.get()
    over = new_run_like(put(going, state(1)))
    put(over, state(1))
    end(over)
    over.run.state = "succeeded"
    over.run.save()
    assert candidates() == [over.run_id, going.run_id]
    assert sweep() == 1
    assert (in_database(going), in_database(over)) == (1, 0)


def test_the_sweep_finds_runs_by_their_index(branch: Branch) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(("EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN ") + WITH_LARGE)
        assert "blob_large" in str(cursor.fetchall())


def test_without_a_store_there_is_nothing_to_do(branch: Branch, settings: Any) -> None:
    settings.BLOB_STORES = {}
    put(branch, state(1))
    end(branch)
    assert (relocate(run_id=branch.run_id), sweep()) == (0, 0)
