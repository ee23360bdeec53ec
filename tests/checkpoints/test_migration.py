"""States that were kept whole are carried over into rows and blobs, with the same bytes, hashes and links."""

from __future__ import annotations

import ast
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.apps import apps as now
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from hypothesis import given, settings
from hypothesis import strategies as st
from reviewhub_agents import canonical

from reviewhub.audit.triggers import missing_triggers
from reviewhub.checkpoints.change import write
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.migrations import _carried_over
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.checkpoints.rows import read_row, unpack, unpack_text
from reviewhub.checkpoints.skeleton import Blobs, Skeleton
from reviewhub.checkpoints.tree import read_state, standing_on
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.checkpoints.conftest import new_run, put, read

BEFORE = "0001_initial"
MIGRATIONS = Path(_carried_over.__file__).parent


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


def test_it_stands_on_nothing_that_may_change() -> None:
    """Of the store it uses nothing; later forms of a row are of no concern to it."""
    used = {
        name
        for module in ("0003_carry_over", "_carried_over")
        for node in ast.walk(ast.parse((MIGRATIONS / f"{module}.py").read_text()))
        if isinstance(node, ast.ImportFrom)
        for name in [node.module or ""]
        if name.startswith("reviewhub")
    }
    assert used == {"reviewhub.audit.triggers", "reviewhub.checkpoints.migrations", "reviewhub_agents"}


WORDS = st.text("ab é\u2028", max_size=3)
STATES = st.dictionaries(
    st.sampled_from(["a", "b", "log"]),
    st.one_of(
        st.lists(WORDS, max_size=5),
        st.sampled_from(["x", "y" * 300, "é" * 300]),
        st.just([f"{n}" * 99 for n in range(5)]),
        st.dictionaries(WORDS, st.integers(0, 9), max_size=2),
    ),
    max_size=3,
)


@given(st.lists(STATES, min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_row_of_states_reads_back(states: list[dict[str, Any]]) -> None:
    """What the frozen writer makes, the store reads to the byte, and goes on from, whatever follows on what."""
    tip, rows = _carried_over.Tip(), list[bytes]()
    blobs: dict[str, bytes] = {}
    for number, state in enumerate(states, 1):
        text = canonical.dumps(state)
        fields = _carried_over.read(body(text), read_state(text).state_hash)
        base, content, made, tip = _carried_over.row(fields, on=tip, number=number, begins=number == 1)
        blobs |= {hash_.hex(): unpack(data) for hash_, data in made.items()}
        rows.append(content)
        bones = Skeleton()
        for packed in rows[base - 1 :]:
            bones.apply(read_row(unpack_text(packed)))
        assert bones.resolve(Blobs(blobs)).text == text
        after = read_state(canonical.dumps(states[-number]))
        on = standing_on(bones.resolve(Blobs(blobs)), after)
        written = write(on, before=bones.resolve(Blobs(blobs)), skeleton=bones, rows=number, weight=0)
        bones.apply(read_row(written.text))
        assert bones.resolve(Blobs(blobs | written.blobs)).text == after.text
