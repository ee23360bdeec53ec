"""What a save does in the database: one statement, all or nothing, blobs once, rows that anybody can read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from reviewhub_agents import canonical, wire

from reviewhub.checkpoints import recall, statements
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.checkpoints.save import StaleHead, save
from reviewhub.runs.fence import StaleEpoch
from reviewhub.runs.models import Branch
from reviewhub.runs.queries import locked_branch
from tests.cast import Cast
from tests.checkpoints.conftest import AGENT, BOB, new_run, put, put_message, read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "checkpoints.md"
BIG = "big " * 200


def grow(branch: Branch, steps: int) -> list[tuple[Checkpoint, str]]:
    """A conversation by hints: a message, a counter and a member of a wide object each step."""
    wide = {f"k{n}": BIG[:300] + str(n) for n in range(80)}
    state: dict[str, Any] = {"ctx": wide, "doc": BIG, "log": [], "step": 0}
    text = canonical.dumps(state)
    saved = [(put(branch, text), text)]
    for step in range(1, steps):
        state = {**state, "ctx": {**state["ctx"], f"k{step % 80}": step}, "step": step}
        state["log"] = [*state["log"], {"n": step, "text": BIG[: step * 7]}]
        parent = saved[-1][0]
        hints = {
            "changed": {"ctx": state["ctx"], "step": step},
            "append": {"log": state["log"][-1:]},
            "unchanged": ["doc"],
        }
        hints |= {"parent": str(parent.id), "parent_hash": parent.state_hash}
        tree = canonical.parse(canonical.dumps(hints))
        assert isinstance(tree, dict)
        branch.refresh_from_db()
        saved.append((put_message(branch, tree), canonical.dumps(state)))
    return saved


def test_a_save_writes_in_one_statement(branch: Branch) -> None:
    put(branch, '{"doc":"x"}')
    prepared = draft(branch=locked(branch), message=wire.CheckpointIn.from_tree({"state": {"doc": BIG}}))
    with (
        transaction.atomic(),
        CaptureQueriesContext(
            connection,
        ) as seen,
    ):
        save(branch=locked(branch), draft=prepared, actor=AGENT)
    writes = [
        query for query in seen.captured_queries if not query["sql"].startswith(("SELECT", "SAVEPOINT"))
    ]
    writes = [query for query in writes if not query["sql"].startswith("RELEASE")]
    assert len(writes) == (1 if connection.vendor == "postgresql" else 3)


def locked(branch: Branch) -> Branch:
    with transaction.atomic():
        return locked_branch(branch.pk)


def test_the_statements_name_every_column() -> None:
    columns = {field.column for field in Checkpoint._meta.concrete_fields}
    for sql in (statements.POSTGRESQL, statements.SQLITE_ROW):
        listed = re.search(r"INSERT INTO checkpoints_checkpoint \((.*?)\)", sql, re.DOTALL)
        assert listed is not None
        assert [name.strip() for name in listed[1].split(",")] == list(statements.NAMES)
    assert set(statements.NAMES) == columns
    sql = statements.POSTGRESQL
    given = set(re.findall(r"%\((\w+)\)s", sql)) | set(re.findall(r"head\.(\w+)", sql))
    assert columns <= given | {"branch_id"}


@pytest.mark.parametrize("lost", ["head", "epoch"])
def test_a_lost_race_writes_nothing_and_says_what_it_lost_to(branch: Branch, lost: str) -> None:
    first = put(branch, "{}")
    held = locked(branch)
    prepared = draft(branch=held, message=wire.CheckpointIn.from_tree({"state": {"doc": BIG}}))
    if lost == "head":
        second = put(branch, '{"a":1}')
    else:
        Branch.objects.filter(pk=branch.pk).update(epoch=held.epoch + 1)
    rows, blobs = Checkpoint.objects.count(), Blob.objects.count()
    with pytest.raises(StaleHead if lost == "head" else StaleEpoch) as refused, transaction.atomic():
        save(branch=held, draft=prepared, actor=AGENT)  # as one that forgot to lock
    if lost == "head":
        assert refused.value.extra["head"] == {"id": str(second.id), "hash": second.state_hash}
    assert (Checkpoint.objects.count(), Blob.objects.count()) == (rows, blobs)
    branch.refresh_from_db()
    assert branch.head == (second.id if lost == "head" else first.id)


def test_a_draft_made_on_an_older_head_is_made_anew(branch: Branch) -> None:
    put(branch, '{"log":["a"]}')
    late = draft(branch=locked(branch), message=wire.CheckpointIn.from_tree({"state": {"log": ["a", "c"]}}))
    put(branch, '{"log":["a","b","' + BIG + '"],"other":1}')
    with transaction.atomic():
        saved = save(branch=locked_branch(branch.pk), draft=late, actor=AGENT)
    recall.forget_all()
    assert (saved.number, read(saved)) == (3, '{"log":["a","c"]}')


def test_a_blob_is_there_once_in_a_run_and_no_other_run_sees_it(cast: Cast, branch: Branch) -> None:
    state = '{"doc":"' + BIG + '"}'
    first = put(branch, state)
    put(branch, "{}")
    put(branch, state)
    fork(checkpoint=first, name=None, changes=[], reason="", actor=BOB)
    assert Blob.objects.filter(run_id=branch.run_id).count() == 1
    other = new_run_of(cast)
    put(other, state)
    assert Blob.objects.filter(run_id=other.run_id).count() == 1
    assert recall.blobs_in(new_run_of(cast).run_id, [hashlib.sha256(f'"{BIG}"'.encode()).hexdigest()]) == {}


def new_run_of(cast: Cast) -> Branch:
    from reviewhub.accounts.models import Agent
    from reviewhub.runs.models import Run

    agent = Agent.objects.first()
    assert agent is not None
    run = Run.objects.create(workspace=cast.workspace, agent=agent, environment="production")
    return Branch.objects.create(workspace=cast.workspace, run=run, name="main")


def test_long_runs_are_read_back_at_every_step_also_by_who_forgot_all(branch: Branch) -> None:
    saved = grow(branch, 140)
    assert {row.base for row, _ in saved} == {1, 65, 129}
    for row, text in saved[::9]:
        recall.forget_all()
        assert read(row) == text


def test_a_checkpoint_may_be_asked_for_twice_in_one_breath(branch: Branch) -> None:
    one, other = put(branch, '{"n":1}'), put(branch, '{"n":2}')
    found = load_states([other, one, other, one])
    assert [state.text for state in found] == ['{"n":2}', '{"n":1}', '{"n":2}', '{"n":1}']


def test_a_list_says_of_each_row_what_the_table_says(branch: Branch) -> None:
    put(branch, "{}")
    put(branch, '{"n":1}', node="work", step=3)
    for row in history(branch=branch).rows:
        assert row.get_deferred_fields() == {"content"}
        kept = Checkpoint.objects.get(pk=row.pk)
        shown = {name: value for name, value in vars(row).items() if name != "_state"}
        assert shown == {name: vars(kept)[name] for name in shown}
        assert len(shown) == len(statements.NAMES) - 1
        assert row.branch is branch


def test_a_fork_from_the_middle_stands_on_its_own(branch: Branch) -> None:
    saved = grow(branch, 90)
    made, first = fork(
        checkpoint=saved[70][0],
        name=None,
        changes=[{"op": "remove", "path": "/log/3"}],
        reason="",
        actor=BOB,
    )
    assert (first.number, first.base) == (1, 1)
    recall.forget_all()
    state = json.loads(saved[70][1])
    del state["log"][3]
    assert json.loads(read(first)) == state
    assert read(put(made, saved[3][1])) == saved[3][1]


def test_the_reader_on_the_page_reads_what_the_store_wrote(branch: Branch) -> None:
    """Nothing of the product takes part: rows, zstd, and the code of the documentation."""
    saved = grow(branch, 100)
    code = re.search(r"```python\n(def read.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    scope: dict[str, Any] = {"json": json}
    exec(code[1], scope)
    for row, text in [saved[n] for n in (0, 1, 40, 63, 64, 65, 99)]:
        state = scope["read"](rows_by_the_page(row), blobs_by_the_page(row))
        assert "{" + ",".join(f'"{name}":{joined(state[name])}' for name in sorted(state)) + "}" == text


def rows_by_the_page(row: Checkpoint) -> list[str]:
    found = Checkpoint.objects.filter(branch=row.branch_id, number__range=(row.base, row.number))
    texts: list[str] = []
    for content in found.order_by("number").values_list("content", flat=True):
        how, rest = bytes(content)[:1], bytes(content)[1:]
        before = "".join(texts).encode()[-16384:]
        words = zstandard.ZstdCompressionDict(before, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        unpacked = (
            rest
            if how == b"\x00"
            else zstandard.ZstdDecompressor(dict_data=words if how == b"\x02" else None).decompress(rest)
        )
        texts.append(unpacked.decode())
    return texts


def blobs_by_the_page(row: Checkpoint) -> Callable[[str], str]:
    def blob(hash_: str) -> str:
        data = bytes(Blob.objects.get(run_id=row.run_id, hash=bytes.fromhex(hash_)).data)
        raw = data[1:] if data[:1] == b"\x00" else zstandard.ZstdDecompressor().decompress(data[1:])
        assert hashlib.sha256(raw).hexdigest() == hash_
        return raw.decode()

    return blob


def joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{','.join(value)}]"
    return "{" + ",".join(f'"{name}":{joined(value[name])}' for name in sorted(value)) + "}"


@pytest.mark.django_db(transaction=True)
def test_only_what_was_committed_is_remembered(cast: Cast) -> None:
    branch = new_run(cast).branches.get()
    kept = put(branch, '{"a":1}')
    assert recall.known(kept.pk, run_id=branch.run_id) is not None
    assert recall.known(kept.pk, run_id=kept.pk) is None
    prepared = draft(branch=locked(branch), message=wire.CheckpointIn.from_tree({"state": {"a": 2}}))
    lost = None
    with pytest.raises(LookupError), transaction.atomic():
        lost = save(branch=locked_branch(branch.pk), draft=prepared, actor=AGENT)
        raise LookupError
    assert lost is not None
    assert recall.known(lost.pk, run_id=branch.run_id) is None
    with transaction.atomic():
        after = save(branch=locked_branch(branch.pk), draft=prepared, actor=AGENT)
    assert recall.known(kept.pk, run_id=branch.run_id) is None
    assert recall.known(after.pk, run_id=branch.run_id) is not None


def test_the_memory_is_bounded(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    recall.forget_all()
    monkeypatch.setattr(recall, "MEMORY_BYTES", 70_000)
    rows = [put(branch, f'{{"n":{n}}}') for n in range(4)]
    for row in rows:
        read(row)
    assert [recall.known(row.pk, run_id=branch.run_id) is not None for row in rows] == [
        False,
        False,
        True,
        True,
    ]
