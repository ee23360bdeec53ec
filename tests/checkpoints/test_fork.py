"""Forks, the way back across them, and what differs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.accounts.models import AgentKey
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.audit.models import Event
from reviewhub.checkpoints import queries
from reviewhub.checkpoints.difference import difference
from reviewhub.checkpoints.fork import NameTaken, fork
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.errors import Invalid, NotFound, TooLarge
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import move
from reviewhub.reviews.targets import checkpoint_for
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES
from tests.cast import Cast, make_test_agent
from tests.checkpoints.conftest import BOB, new_run, put, read
from tests.racing import together


def fork_at(
    checkpoint: Checkpoint, *changes: dict[str, Any], name: str | None = None
) -> tuple[Branch, Checkpoint]:
    """Bob forks, with changes as the API gets them."""
    steps = [canonical.parse(canonical.dumps(change)) for change in changes]
    return fork(checkpoint=checkpoint, name=name, changes=steps, reason="try again", actor=BOB)


class TestFork:
    def test_begins_with_the_old_state_as_its_parent(self, branch: Branch) -> None:
        older = put(branch, '{"amount":1240.00}', node="refund", step=9)
        newer = put(branch, '{"amount":0}')
        made, first = fork_at(older)
        assert (made.name, made.state, made.fork_of, made.head) == ("fork-1", "running", older.id, first.id)
        assert (first.parent_id, first.number, first.node, first.step) == (older.id, 1, "refund", 9)
        assert (read(first), first.state_hash) == ('{"amount":1240.00}', older.state_hash)
        assert (first.reason, first.author_name) == ("try again", "Bob")
        branch.refresh_from_db()
        assert (branch.head, branch.state) == (newer.id, "running")

    def test_changes_what_it_is_told_and_not_a_byte_more(self, branch: Branch) -> None:
        older = put(branch, '{"a":1E2,"items":[1,2],"to":"Oslo"}')
        _, first = fork_at(
            older,
            {"op": "set", "path": "/to", "value": "Bergen"},
            {"op": "remove", "path": "/items/0"},
            {"op": "insert", "path": "/new", "value": None},
        )
        assert read(first) == '{"a":1E2,"items":[2],"new":null,"to":"Bergen"}'
        event = Event.objects.get(kind="checkpoint.forked")
        assert json.loads(event.payload.body)["data"]["changed"] == ["/to", "/items/0", "/new"]
        assert event.payload.sentence == "Bob forked checkpoint 1 of main into fork-1: try again"

    @pytest.mark.parametrize(
        "change",
        [
            {"op": "set", "path": "/nothing/there", "value": 1},
            {"op": "remove", "path": "/nothing"},
            {"op": "set", "path": "", "value": {}},
            {"op": "move", "path": "/a"},
        ],
    )
    def test_refuses_a_change_that_does_not_fit_and_leaves_nothing(
        self, branch: Branch, change: dict[str, Any]
    ) -> None:
        older = put(branch, '{"a":1}')
        with pytest.raises(Invalid) as refused:
            fork_at(older, {"op": "set", "path": "/a", "value": 2}, change)
        assert refused.value.errors[0]["path"].startswith("/changes/1")
        assert Branch.objects.count() == 1

    def test_refuses_what_grows_too_large(self, branch: Branch, settings: Any) -> None:
        older = put(branch, '{"a":1}')
        settings.LIMIT_STATE_BYTES = 20
        with pytest.raises((Invalid, TooLarge), match="20"):
            fork_at(older, {"op": "set", "path": "/a", "value": "x" * 20})

    def test_names_are_unique_in_a_run(self, branch: Branch) -> None:
        older = put(branch)
        assert fork_at(older, name="what if")[0].name == "what if"
        for taken in ("what if", "main"):
            with pytest.raises(NameTaken):
                fork_at(older, name=taken)
        assert [fork_at(older)[0].name for _ in range(2)] == ["fork-1", "fork-2"]

    def test_no_name_is_the_id_of_another_branch(self, branch: Branch, cast: Cast) -> None:
        older = put(branch)
        for same in (str(branch.pk), branch.pk.hex, str(branch.pk).upper(), f"{{{branch.pk}}}"):
            with pytest.raises(NameTaken, match="id of a branch"):
                fork_at(older, name=same)
        for free in (str(cast.bob.pk), str(uuid7())):
            assert fork_at(older, name=free)[0].name == free

    @pytest.mark.parametrize("name", ["", "n" * 121, "a\nb", "a\x00b", " ", "main ", " main", "two  spaces"])
    def test_names_can_be_shown(self, branch: Branch, name: str) -> None:
        with pytest.raises(Invalid):
            fork_at(put(branch), name=name)

    def test_of_an_ended_branch_is_allowed(self, branch: Branch) -> None:
        older = put(branch)
        move(branch, to="failed", table=BRANCH_EDGES)
        assert fork_at(older)[0].state == "running"

    @pytest.mark.django_db(transaction=True)
    def test_several_at_once_get_names_of_their_own(self, cast: Cast) -> None:
        older = put(new_run(cast).branches.get())
        results = together(*[lambda: fork_at(older)[0].name] * 4)
        assert sorted(results) == ["fork-1", "fork-2", "fork-3", "fork-4"]


class TestHistory:
    def pages(self, branch: Branch, limit: int) -> list[Checkpoint]:
        found, cursor = [], ""
        while True:
            page = history(branch=branch, cursor=cursor, limit=limit)
            assert len(page.rows) <= limit
            found += page.rows
            cursor = page.next
            if not cursor:
                return found

    @pytest.mark.parametrize("limit", [1, 2, 3, 50])
    def test_goes_back_across_forks_and_leaves_out_what_came_after(self, branch: Branch, limit: int) -> None:
        main = [put(branch) for _ in range(3)]
        fork_branch, first = fork_at(main[1])
        put(branch)
        second = put(fork_branch)
        deeper, deepest = fork_at(first)
        put(fork_branch)
        assert self.pages(deeper, limit) == [deepest, first, main[1], main[0]]
        assert self.pages(fork_branch, limit)[1:] == [second, first, main[1], main[0]]
        assert len(self.pages(branch, limit)) == 4

    def test_of_a_branch_without_checkpoints_is_empty(self, branch: Branch) -> None:
        assert history(branch=branch).rows == []

    def test_a_cursor_opens_no_other_run(self, cast: Cast, branch: Branch) -> None:
        for _ in range(3):
            put(branch)
        cursor = history(branch=branch, limit=1).next
        agent = make_test_agent(cast.finance, name="Finance agent")[0]
        run = type(branch.run).objects.create(
            workspace=branch.workspace, agent=agent, environment="production"
        )
        other = Branch.objects.create(workspace=branch.workspace, run=run, name="main")
        for wrong in (cursor, "x", "WzEsMl0"):
            with pytest.raises(Invalid):
                history(branch=other, cursor=wrong)

    def test_loads_no_state(self, branch: Branch, django_assert_num_queries: Any) -> None:
        put(branch)
        with django_assert_num_queries(1):
            (row,) = history(branch=branch).rows
            assert row.branch.name == "main"
        assert "content" in row.get_deferred_fields()


def test_a_run_lists_all_its_branches_newest_first(branch: Branch) -> None:
    first = put(branch)
    _, forked = fork_at(first)
    last = put(branch)
    page = queries.of_run(branch.run_id, limit=2)
    assert page.rows == [last, forked]
    assert queries.of_run(branch.run_id, cursor=page.next, limit=2).rows == [first]


def test_another_agent_or_workspace_does_not_find_a_checkpoint(cast: Cast, branch: Branch) -> None:
    checkpoint = put(branch)
    stranger = make_test_agent(cast.support, name="Another agent")[1]
    key = AgentKey(agent=branch.run.agent, environment=branch.run.environment)
    staging = AgentKey(agent=branch.run.agent, environment="staging")
    assert queries.for_key(key, checkpoint.id) == checkpoint
    assert checkpoint_for(MemberCaller(cast.bob), checkpoint.id)[0] == checkpoint
    for owner in (stranger, staging):
        with pytest.raises(NotFound):
            queries.for_key(owner, checkpoint.id)
    for member in (cast.mallory, cast.dave):
        with pytest.raises(NotFound):
            checkpoint_for(MemberCaller(member), checkpoint.id)
    with pytest.raises(NotFound):
        queries.for_key(key, uuid7())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{}", "{}", []),
        ('{"a":1}', '{"a":2}', [("/a", "changed", "1", "2")]),
        ('{"a":1}', '{"a":1.0}', [("/a", "changed", "1", "1.0")]),
        ('{"a":null}', "{}", [("/a", "removed", "null", None)]),
        ("{}", '{"a":null}', [("/a", "added", None, "null")]),
        ('{"a":true}', '{"a":1}', [("/a", "changed", "true", "1")]),
        ('{"m":[1,2]}', '{"m":[1,2,3]}', [("/m/2", "added", None, "3")]),
        ('{"m":[1,2,3]}', '{"m":[1,3]}', [("/m/1", "removed", "2", None)]),
        ('{"m":[{"x":1}]}', '{"m":[{"x":2}]}', [("/m/0/x", "changed", "1", "2")]),
        ('{"m":[1]}', '{"m":{"0":1}}', [("/m", "changed", "[1]", '{"0":1}')]),
        (
            '{"b":{"x/y":1},"a":[1,1]}',
            '{"b":{"x/y":2},"a":[1]}',
            [("/a/1", "removed", "1", None), ("/b/x~1y", "changed", "1", "2")],
        ),
    ],
)
def test_differences_read_well(branch: Branch, old: str, new: str, expected: list[Any]) -> None:
    found = difference(put(branch, old), put(branch, new))
    assert [(each.path, each.kind, each.before, each.after) for each in found.changes] == expected
    assert not found.more


def test_differences_are_bounded_and_inside_one_run(cast: Cast, branch: Branch) -> None:
    old, new = put(branch, "{}"), put(branch, json.dumps({f"f{n}": n for n in range(10)}))
    found = difference(old, new, most=3)
    assert (len(found.changes), found.more) == (3, True)
    run = type(branch.run).objects.create(
        workspace=branch.workspace, agent=branch.run.agent, environment="production"
    )
    foreign = put(Branch.objects.create(workspace=branch.workspace, run=run, name="main"))
    with pytest.raises(Invalid):
        difference(old, foreign)
