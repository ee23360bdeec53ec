"""The command and the schedule: a dry run says what the real one does, and a kill at any moment leaves whole runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from reviewhub.audit.models import Event
from reviewhub.celery import RETENTION, app
from reviewhub.checkpoints import recall
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Blob, Checkpoint, Removal
from reviewhub.core.clock import now
from reviewhub.retention import attempt as attempting
from reviewhub.retention.attempt import attempt
from reviewhub.retention.estimate import estimate
from reviewhub.retention.forecast import forecast
from reviewhub.retention.models import Progress
from reviewhub.retention.queries import failing
from reviewhub.retention.sweep import sweep
from reviewhub.runs.models import Branch, Run
from tests.cast import Cast
from tests.checkpoints.conftest import read
from tests.checkpoints.test_killed import ROOT, address, until_its_server_side_is_gone
from tests.retention.conftest import age, grow, numbers


def told(*args: str, **options: Any) -> str:
    out = StringIO()
    call_command("retention", *args, stdout=out, **options)
    return out.getvalue()


def test_a_dry_run_says_what_the_real_one_does_and_writes_nothing(branch: Branch, settings: Any) -> None:
    settings.STORAGE_PRICES = {"database": 1e6}
    grow(branch, 10)
    age(30)
    events = Event.objects.count()
    dry = told("--dry-run")
    assert (Event.objects.count(), Checkpoint.objects.count()) == (events, 10)
    assert not Removal.objects.exists() and not Progress.objects.exists()
    size = estimate(branch.run).bytes
    assert f"{branch.run_id}: 6 checkpoints, 6 blobs, {size} bytes" in dry
    assert f"{size / 1000:.6f} a month" in dry
    found = forecast(branch.workspace_id)
    assert (found.runs, found.losing, found.held, found.goes.bytes) == (1, 1, 0, size)
    assert told("run").replace("gone", "would go") == dry
    assert numbers(branch) == [1, 5, 9, 10]


def test_it_has_to_be_told_what_to_do(branch: Branch) -> None:
    for args in ((), ("run", "--dry-run"), ("erase", "--dry-run")):
        with pytest.raises(CommandError, match="Say either"):
            told(*args)
    with pytest.raises(CommandError, match="no workspace 'nowhere'"):
        told("run", workspace="nowhere")


def test_it_erases_what_a_persons_runs_hold(branch: Branch) -> None:
    Run.objects.update(on_behalf_of="ann")
    whose = {"workspace": "northwind", "on_behalf_of": "ann"}
    for refused, said in (
        ({"on_behalf_of": "ann"}, "Say which --workspace"),
        (whose, "Say why"),
        ({**whose, "reason": "they asked"}, "it is running"),
        ({**whose, "on_behalf_of": "bo", "reason": "they asked"}, "No run was started"),
    ):
        with pytest.raises(CommandError, match=said):
            told("erase", **refused)
    Branch.objects.update(state="succeeded")
    Run.objects.update(state="succeeded", ended_at=now())
    assert told("erase", **whose, reason="they asked") == "erased: 1 runs\n"
    assert Run.objects.get().erased_at is not None


def test_the_schedule_looks_at_each_run_once_a_day(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    app.loader.import_default_modules()
    assert RETENTION in app.tasks
    grow(branch, 10)
    age(30)
    assert sweep().checkpoints == 6
    grow(branch, 10)
    age(30)
    assert sweep().is_nothing
    Progress.objects.update(seen_at=now() - timedelta(days=2))

    def broken(**_: Any) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(attempting, "prune", broken)
        assert sweep().is_nothing
    assert sweep().is_nothing, "its turn comes again tomorrow"
    Progress.objects.update(seen_at=now() - timedelta(days=2))
    assert sweep().checkpoints > 0


def test_a_failure_is_kept_until_a_look_succeeds_and_recorded_once(
    branch: Branch, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(branch, 10)
    age(30)

    def broken(what: str) -> Any:
        def prune(**_: Any) -> None:
            raise RuntimeError(what)

        return prune

    def recorded() -> list[str]:
        rows = Event.objects.filter(kind="run.prune_failed", run_id=branch.run_id).order_by("id")
        return [row.payload.sentence for row in rows]

    alice = Client()
    alice.force_login(cast.alice.person)
    with monkeypatch.context() as patch:
        patch.setattr(attempting, "prune", broken("a <b>bug</b>"))
        with pytest.raises(CommandError, match="1 runs could not"):
            told("run")
        first = Progress.objects.get()
        assert attempt(branch.run) is None
        (one,) = failing(branch.workspace_id)
        assert (one.run_id, one.problem) == (branch.run_id, "RuntimeError: a <b>bug</b>")
        assert one.failing_since == first.failing_since
        assert one.failed_at is not None and one.failed_at >= one.failing_since
        assert len(recorded()) == 1 and "RuntimeError: a <b>bug</b>" in recorded()[0]
        shown = alice.get("/northwind/retention").content.decode()
        assert "RuntimeError: a &lt;b&gt;bug&lt;/b&gt;" in shown
        patch.setattr(attempting, "prune", broken("another"))
        assert attempt(branch.run) is None
        assert len(recorded()) == 2
    found = attempt(branch.run)
    assert found is not None and found.checkpoints == 6
    assert not failing(branch.workspace_id).exists()
    assert "could not go through" not in alice.get("/northwind/retention").content.decode()


KILLED = """
import django, sys
django.setup()
from django.core.management import call_command
call_command("retention", "run")
"""


@pytest.mark.servers
@pytest.mark.django_db(transaction=True)
def test_killed_at_any_moment_it_leaves_whole_runs_and_goes_on(branch: Branch) -> None:
    texts = {row.number: read(row) for row in grow(branch, 10)}
    age(30)
    seen = []
    for fault in ("prune.before_commit:kill:2", "prune.after_commit:kill:2", "prune.before_commit:kill:1"):
        assert run_killed(fault) == -signal.SIGKILL
        until_its_server_side_is_gone()
        recall.forget_all()
        for row in Checkpoint.objects.all():
            assert load(row) == texts[row.number]
        assert Removal.objects.count() == Event.objects.filter(kind="run.pruned").count()
        seen.append((Checkpoint.objects.count(), Blob.objects.count()))
    assert seen == [(8, 11), (4, 11), (4, 11)]
    assert run_killed("") == 0
    assert (Checkpoint.objects.count(), Blob.objects.count()) == (4, 5)
    assert not Progress.objects.get(run=Run.objects.get()).blobs_due


def run_killed(fault: str) -> int:
    """The command in a process of its own, with two rows a transaction; how it ended."""
    environment = {
        **os.environ,
        "DATABASE_URL": address(),
        "DJANGO_SETTINGS_MODULE": "reviewhub.settings",
        "RETENTION_BATCH_ROWS": "2",
        "REVIEWHUB_FAULT": fault,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'agents'}",
    }
    return subprocess.run(
        [sys.executable, "-c", KILLED], env=environment, cwd=ROOT, capture_output=True, check=False
    ).returncode
