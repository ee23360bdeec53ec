"""States that were kept whole are carried over into rows and blobs, with the same bytes, hashes and links."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import zstandard
from django.apps import apps as now
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from reviewhub.audit.triggers import missing_triggers
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.checkpoints.tree import read_state
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.checkpoints.conftest import new_run, put, read

BEFORE = "0001_initial"


@pytest.fixture
def first_form(cast: Cast) -> Iterator[Any]:
    """The table as it was; the newest one again afterwards."""
    call_command("migrate", "checkpoints", BEFORE, verbosity=0)
    executor = MigrationExecutor(connection)
    yield executor.loader.project_state([("checkpoints", BEFORE)]).apps.get_model("checkpoints", "Checkpoint")
    call_command("migrate", verbosity=0)


def body(text: str) -> bytes:
    """As the first form kept a state."""
    packed = zstandard.ZstdCompressor(level=3, write_checksum=True).compress(text.encode())
    return b"\x01" + packed if len(packed) < len(text) else b"\x00" + text.encode()


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


@pytest.mark.django_db(transaction=True)
def test_every_state_is_carried_over(cast: Cast, first_form: Any) -> None:
    branch = new_run(cast).branches.get()
    texts = [
        '{"doc":"' + "é" * 400 + '","log":[' + ",".join(f'"{n} {"x" * 99}"' for n in range(step)) + "]}"
        for step in range(80)
    ]
    rows, parent = [], None
    for number, text in enumerate(texts, 1):
        rows.append(keep(first_form, branch, number, text, parent))
        parent = rows[-1].pk
    Branch.objects.filter(pk=branch.pk).update(head=parent)
    fork = Branch.objects.create(
        workspace=branch.workspace, run=branch.run, name="fork-1", fork_of=rows[39].pk
    )
    forked = keep(first_form, fork, 1, texts[39], rows[39].pk)
    exact = keep(first_form, fork, 2, '{"a":1E2,"big":9007199254740993}', forked.pk)
    broken = keep(first_form, fork, 3, '{"a":1}', exact.pk, body=b"\x01damaged")
    after = keep(first_form, fork, 4, '{"b":[1]}', broken.pk)
    Branch.objects.filter(pk=fork.pk).update(head=after.pk)

    call_command("migrate", verbosity=0)

    assert missing_triggers() == []
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
