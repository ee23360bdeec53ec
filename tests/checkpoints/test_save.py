"""Saving and loading."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from reviewhub_agents import wire

from reviewhub.checkpoints import queries
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.load import field_digests
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.save import StaleHead, save
from reviewhub.core.errors import Invalid, TooLarge
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch
from reviewhub.runs.queries import locked_branch
from tests.cast import Cast
from tests.checkpoints.conftest import AGENT, new_run, put, put_message, read
from tests.checkpoints.racing import races
from tests.racing import together

EXACT = '{"amount":1240.00,"big":9007199254740993,"exp":1E2,"messages":[],"text":"é\\n\U0001f378"}'


def test_a_state_comes_back_byte_for_byte(branch: Branch) -> None:
    checkpoint = put(branch, EXACT, node="refund", step=9)
    assert read(checkpoint) == EXACT
    assert checkpoint.raw_length == len(EXACT.encode())
    assert (checkpoint.node, checkpoint.step, checkpoint.number, checkpoint.parent_id) == (
        "refund",
        9,
        1,
        None,
    )
    assert (checkpoint.author_kind, checkpoint.author_name) == ("agent", "Support agent")


def test_a_save_moves_the_head(branch: Branch) -> None:
    first = put(branch, '{"a":1}')
    second = put(branch, '{"a":2}')
    branch.refresh_from_db()
    assert branch.head == second.id
    assert (second.parent_id, second.number) == (first.id, 2)
    assert queries.head_of(branch) == second


def test_equal_states_have_equal_hashes_wherever_they_are(cast: Cast, branch: Branch) -> None:
    first = put(branch, '{"a":1,"b":[2]}')
    put(branch, '{"a":2}')
    again = put(branch, '{ "b": [2], "a": 1 }')
    assert again.state_hash == first.state_hash
    assert put(branch, '{"a":1.0,"b":[2]}').state_hash != first.state_hash


@pytest.mark.parametrize("parent", ["null", "older", "unknown"])
def test_a_parent_that_is_not_the_head_is_told_the_head(branch: Branch, parent: str) -> None:
    older, head = put(branch, '{"a":1}'), put(branch, '{"a":2}')
    given = {"null": None, "older": str(older.id), "unknown": str(uuid7())}[parent]
    with pytest.raises(StaleHead) as refused:
        put(branch, '{"a":3}', parent=given)
    assert refused.value.extra["head"] == {"id": str(head.id), "hash": head.state_hash}
    branch.refresh_from_db()
    assert branch.head == head.id
    assert Checkpoint.objects.count() == 2


def test_a_parent_of_null_means_the_first(branch: Branch) -> None:
    assert put(branch, "{}", parent=None).number == 1
    with pytest.raises(StaleHead):
        put(branch, "{}", parent=None)


def test_a_parent_on_an_empty_branch_is_stale_too(branch: Branch) -> None:
    with pytest.raises(StaleHead) as refused:
        put(branch, "{}", parent=str(uuid7()))
    assert refused.value.extra == {"head": None}


class TestHints:
    def test_say_what_changed(self, branch: Branch) -> None:
        parent = put(branch, '{"log":[1],"order":{"id":1E2},"step":1,"gone":true}')
        hints = {"changed": {"step": None, "new": "x"}, "append": {"log": ["y"]}, "unchanged": ["order"]}
        checkpoint = put_message(
            branch, {**hints, "parent": str(parent.id), "parent_hash": parent.state_hash}
        )
        whole = '{"log":[1,"y"],"new":"x","order":{"id":1E2},"step":null}'
        assert read(checkpoint) == whole
        put(branch, "{}")
        assert put(branch, whole).state_hash == checkpoint.state_hash

    @pytest.mark.parametrize(
        ("hints", "path"),
        [
            ({"append": {"order": ["x"]}}, "/checkpoint/append/order"),
            ({"append": {"nothing": ["x"]}}, "/checkpoint/append/nothing"),
            ({"unchanged": ["nothing"]}, "/checkpoint/unchanged"),
            ({"unchanged": ["log", "log"]}, "/checkpoint/unchanged"),
            ({"changed": {"log": []}, "append": {"log": ["x"]}}, "/checkpoint/changed/log"),
            ({"unchanged": ["log"], "parent_hash": "sha256:" + "0" * 64}, "/checkpoint/parent_hash"),
            ({"unchanged": ["log"], "parent": "0190a6b2-6f1c-7c3e-9d2a-3b1f0c5d7e42"}, "/checkpoint/parent"),
        ],
    )
    def test_that_cannot_hold_are_refused(self, branch: Branch, hints: dict[str, Any], path: str) -> None:
        parent = put(branch, '{"log":[],"order":{}}')
        with pytest.raises(Invalid) as refused:
            put_message(branch, {"parent": str(parent.id), "parent_hash": parent.state_hash, **hints})
        assert refused.value.errors[0]["path"] == path

    def test_against_an_older_parent_are_stale(self, branch: Branch) -> None:
        parent = put(branch, '{"log":[]}')
        put(branch, '{"log":[1]}')
        with pytest.raises(StaleHead):
            put_message(
                branch,
                {"append": {"log": ["x"]}, "parent": str(parent.id), "parent_hash": parent.state_hash},
            )

    def test_do_not_pass_the_limit_by_adding_up(self, branch: Branch, settings: Any) -> None:
        settings.LIMIT_STATE_BYTES = 40
        parent = put(branch, '{"log":["aaaaaaaaaa"]}')
        hints = {"append": {"log": ["b" * 20]}, "parent": str(parent.id), "parent_hash": parent.state_hash}
        with pytest.raises(TooLarge, match="the limit is 40"):
            put_message(branch, hints)


def test_a_checkpoint_saved_before_is_named_by_its_id_while_it_is_the_head(
    cast: Cast, branch: Branch
) -> None:
    first = put(branch, '{"a":1}')
    assert put_message(branch, {"id": str(first.id)}) == first
    put(branch, '{"a":2}')
    with pytest.raises(StaleHead):
        put_message(branch, {"id": str(first.id)})
    assert Checkpoint.objects.count() == 2
    with pytest.raises(Invalid):
        put_message(branch, {"id": str(uuid7())})


def test_a_checkpoint_of_another_run_is_not_there(cast: Cast, branch: Branch) -> None:
    foreign = put(branch, '{"log":[]}')
    other = Branch.objects.create(workspace=branch.workspace, run=new_sibling(branch), name="main")
    for message in ({"id": str(foreign.id)}, hints_on(foreign)):
        with pytest.raises(Invalid, match="no such checkpoint of this run"):
            put_message(other, message)


def new_sibling(branch: Branch) -> Any:
    return type(branch.run).objects.create(
        workspace=branch.workspace, agent=branch.run.agent, environment="production"
    )


def hints_on(parent: Checkpoint) -> dict[str, Any]:
    return {"unchanged": ["log"], "parent": str(parent.id), "parent_hash": parent.state_hash}


def test_a_state_at_the_limit_is_taken_and_one_byte_more_is_not(branch: Branch, settings: Any) -> None:
    settings.LIMIT_STATE_BYTES = 20
    assert put(branch, '{"a":"' + "x" * 12 + '"}').raw_length == 20
    with pytest.raises(TooLarge, match="21 bytes; the limit is 20"):
        put(branch, '{"a":"' + "x" * 13 + '"}')


def test_a_save_belongs_into_the_callers_transaction(branch: Branch) -> None:
    prepared = draft(branch=branch, message=wire.CheckpointIn.from_tree({"state": {}}))
    with pytest.raises(LookupError), transaction.atomic():
        save(branch=locked_branch(branch.id), draft=prepared, actor=AGENT)
        raise LookupError
    branch.refresh_from_db()
    assert branch.head is None
    assert not Checkpoint.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_save_outside_of_a_transaction_is_refused(branch: Branch) -> None:
    prepared = draft(branch=branch, message=wire.CheckpointIn.from_tree({"state": {}}))
    with pytest.raises(RuntimeError):
        save(branch=branch, draft=prepared, actor=AGENT)


def test_the_digests_of_the_fields_make_the_hash(branch: Branch) -> None:
    digests = field_digests(put(branch, '{"a":1,"b":2}'))
    again = field_digests(put(branch, '{"a":1,"b":3}'))
    assert digests["a"] == again["a"]
    assert digests["b"] != again["b"]
    assert digests["a"].startswith("sha256:")


@pytest.mark.django_db(transaction=True)
def test_of_two_saves_on_one_parent_one_wins(cast: Cast) -> None:
    branch = new_run(cast).branches.get()
    put(branch, "{}")
    branch.refresh_from_db()
    races(branch, rounds=50)


@pytest.mark.django_db(transaction=True)
def test_saves_without_a_parent_line_up(cast: Cast) -> None:
    branch = new_run(cast).branches.get()
    results = together(*[lambda: put(branch, "{}")] * 4)
    assert sorted(result.number for result in results) == [1, 2, 3, 4]
    chain = {result.id: result.parent_id for result in results}
    assert sorted(map(str, chain.values())).count("None") == 1
