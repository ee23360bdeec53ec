"""An old installation is brought to the newest form: nothing it held is lost, and names are told apart first."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps as now
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from reviewhub.accounts.models import Team
from reviewhub.audit.triggers import missing_triggers
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.checkpoints.tree import read_state
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.checkpoints.conftest import new_run, put, read
from tests.checkpoints.test_carried_over import body


def table_at(app: str, migration: str, model: str) -> Any:
    """The table of a model as it was at a migration of its app, which is where the database is brought."""
    call_command("migrate", app, migration, verbosity=0)
    executor = MigrationExecutor(connection)
    return executor.loader.project_state([(app, migration)]).apps.get_model(app, model)


@pytest.fixture
def newest_afterwards() -> Iterator[None]:
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("newest_afterwards")
def test_everything_is_carried_over(cast: Cast) -> None:
    """In one go, since the way back and forth takes longer than what is looked at."""
    branch = new_run(cast).branches.get()
    fork = Branch.objects.create(workspace=branch.workspace, run=branch.run, name="fork-1")
    checkpoints = table_at("checkpoints", "0001_initial", "Checkpoint")
    teams = table_at("accounts", "0002_session_epoch", "Team")
    states_are_carried_over = keep_states(branch, fork, checkpoints)
    for name in ("finance", "FINANCE"):
        teams.objects.create(workspace_id=cast.workspace.pk, name=name)
    # A database folds no sharp s, and a letter with an accent may be one sign or two.
    folded_by_the_database = table_at("accounts", "0004_state_validation", "Team")
    for name in ("Straße", "STRASSE", "E\u0301quipe", "\u00c9quipe"):
        folded_by_the_database.objects.create(workspace_id=cast.workspace.pk, name=name)

    call_command("migrate", verbosity=0)

    assert missing_triggers() == []
    states_are_carried_over()
    rows = Team.objects.filter(workspace=cast.workspace).order_by("created_at", "id")
    assert list(rows.values_list("name", flat=True)) == [
        "Support",
        "Finance",
        "finance (2)",
        "FINANCE (3)",
        "Straße",
        "STRASSE (2)",
        "E\u0301quipe",
        "\u00c9quipe (2)",
    ]
    assert Team.objects.get(name="STRASSE (2)").folded == "strasse (2)"


def keep(table: Any, branch: Branch, number: int, text: str, parent: uuid.UUID | None, **more: Any) -> Any:
    """One row of the first form."""
    fields = {
        "workspace_id": branch.workspace_id,
        "run_id": branch.run_id,
        "branch_id": branch.pk,
        "number": number,
        "parent_id": parent,
        "state_hash": read_state(text).state_hash,
        "raw_length": len(text.encode()),
        "body": body(text),
        "node": "refund",
    }
    return table.objects.create(**{**fields, **more})


def keep_states(branch: Branch, fork: Branch, first_form: Any) -> Callable[[], None]:
    """States in the form in which they were kept whole; what comes back looks whether they are all still there."""
    texts = [
        '{"doc":"' + "é" * 400 + '","log":[' + ",".join(f'"{n} {"x" * 99}"' for n in range(step)) + "]}"
        for step in range(80)
    ]
    rows, parent = [], None
    for number, text in enumerate(texts, 1):
        rows.append(keep(first_form, branch, number, text, parent))
        parent = rows[-1].pk
    Branch.objects.filter(pk=branch.pk).update(head=parent)
    forked = keep(first_form, fork, 1, texts[39], rows[39].pk)
    exact = keep(first_form, fork, 2, '{"a":1E2,"big":9007199254740993}', forked.pk)
    broken = keep(first_form, fork, 3, '{"a":1}', exact.pk, body=b"\x01damaged")
    after = keep(first_form, fork, 4, '{"b":[1]}', broken.pk)
    Branch.objects.filter(pk=fork.pk).update(head=after.pk, fork_of=rows[39].pk)

    def are_carried_over() -> None:
        assert [read(row) for row in rows] == texts
        assert read(forked) == texts[39]
        assert (read(exact), read(after)) == ('{"a":1E2,"big":9007199254740993}', '{"b":[1]}')
        with pytest.raises(CorruptCheckpoint):
            read(broken)
        bases = Checkpoint.objects.filter(branch=branch).order_by("number").values_list("base", flat=True)
        assert list(bases) == [1] * 64 + [65] * 16
        kept = sum(len(bytes(data)) for data in Blob.objects.values_list("data", flat=True))
        assert kept < sum(map(len, texts)) / 20
        fork.refresh_from_db()
        assert [row.number for row in history(branch=fork).rows[:5]] == [4, 3, 2, 1, 40]
        branch.refresh_from_db()
        assert put(branch, '{"next":1}').number == 81
        assert "body" not in {field.name for field in now.get_model("checkpoints", "Checkpoint")._meta.fields}

    return are_carried_over
