"""Whatever is saved comes back; whatever trees of saves, forks, rewrites and removals grow, a model says the same."""

from __future__ import annotations

import copy
import random
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import Number

from reviewhub.checkpoints import change, recall, values
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Blob, Checkpoint, Tombstone
from reviewhub.checkpoints.tree import read_state
from reviewhub.core.actors import SYSTEM
from reviewhub.gates.rewrite import rewrite
from reviewhub.retention.estimate import estimate
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Branch, RetentionRule, Run
from reviewhub.runs.start import start
from tests.cast import Cast, by_key, make_test_agent
from tests.checkpoints.conftest import put_message, read

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?", fullmatch=True).map(
    Number
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
STATES = st.dictionaries(TEXT, VALUES, max_size=5)


@pytest.mark.django_db
@given(state=STATES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_saved_is_loaded_byte_for_byte(branch: Branch, state: dict[str, Any]) -> None:
    assert read(put_message(branch, {"state": state})) == canonical.dumps(state)


WORDS = ["", "x", "ü" * 9, "word " * 12, "long " * 90]


class Model:
    """The same trees as plain Python: for each branch of each run the list of states on the way to its head."""

    def __init__(self, mains: list[Branch]) -> None:
        self.ways: dict[Branch, list[tuple[Checkpoint, Any]]] = {main: [] for main in mains}
        self.closed: set[Branch] = set()
        self.gone: set[uuid.UUID] = set()

    def step(self, dice: random.Random) -> None:
        """One random act: save whole, save by hints, fork from anywhere, a person's rewrite, or a removal."""
        branch = dice.choice([each for each in self.ways if each not in self.closed])
        way = self.ways[branch]
        act = dice.choice(["whole"] * 3 + ["hints"] * 5 + ["fork", "rewrite", "prune"]) if way else "whole"
        if act == "prune":
            self.prune(dice, branch.run_id)
            return
        if act in ("fork", "rewrite"):
            self.branch_off(dice, act, branch)
            return
        before = copy.deepcopy(way[-1][1]) if way else {}
        after = after_step(dice, before)
        message = hints(way[-1][0], before, after) if act == "hints" else {"state": after}
        branch.refresh_from_db()
        way.append((put_message(branch, message), after))

    def prune(self, dice: random.Random, run_id: uuid.UUID) -> None:
        """A rule that is no older than this moment takes what it takes; the model learns from the tombstones."""
        rule = dice.choice([{"keep_last": dice.randrange(1, 9)}, {"thin_days": 0}, {"max_age_days": 0}])
        workspace = Run.objects.get(pk=run_id).workspace_id
        RetentionRule.objects.all().delete()
        RetentionRule.objects.create(workspace_id=workspace, author_name="Alice", **rule)
        expected = estimate(Run.objects.get(pk=run_id))
        assert prune(run_id=run_id) == expected
        assert prune(run_id=run_id).is_nothing
        hashes = {row.id: row.state_hash for way in self.ways.values() for row, _ in way}
        for stone in Tombstone.objects.filter(removal__run_id=run_id):
            assert stone.state_hash == hashes[stone.pk]
            self.gone.add(stone.pk)

    def branch_off(self, dice: random.Random, act: str, branch: Branch) -> None:
        way = self.ways[branch]
        at = dice.choice([at for at, (row, _) in enumerate(way) if row.id not in self.gone])
        origin, tree = way[at]
        if origin.branch in self.closed:
            act = "fork"
        changes: list[Any] = [{"op": "set", "path": "/touched", "value": Number(str(dice.randrange(99)))}]
        tree = copy.deepcopy(tree)
        if act == "rewrite" or dice.random() < 0.5:
            tree["touched"] = changes[0]["value"]
        else:
            changes = []
        if act == "fork":
            made, first = fork(checkpoint=origin, name=None, changes=changes, reason="", actor=SYSTEM)
        else:
            steps = [wire.Change.from_tree(change) for change in changes]
            rewritten = rewrite(checkpoint=origin, changes=steps, reason="no", actor=SYSTEM)
            made, first = rewritten.branch, rewritten.first
            self.closed.add(origin.branch)
        self.ways[made] = [*way[: at + 1], (first, tree)]

    def check(self) -> None:
        """Every checkpoint of every way is what the model says, read one by one, together, and compared."""
        for branch, way in self.ways.items():
            branch.refresh_from_db()
            assert branch.head == (way[-1][0].id if way else None)
            assert branch.head not in self.gone and branch.fork_of not in self.gone
            way = [(row, tree) for row, tree in way if row.id not in self.gone]
            assert [row.id for row in history(branch=branch, limit=200).rows] == [
                row.id for row, _ in reversed(way)
            ]
            texts = [canonical.dumps(tree) for _, tree in way]
            recall.forget_all()
            assert [read(row) for row, _ in way] == texts
            assert [state.text for state in load_states([row for row, _ in way])] == texts
            assert [row.state_hash for row, _ in way] == [read_state(text).state_hash for text in texts]


def after_step(dice: random.Random, tree: dict[str, Any]) -> dict[str, Any]:
    """A state some random changes later; what did not change is as it was."""
    made = copy.deepcopy(tree)
    for _ in range(dice.randrange(1, 4)):
        name = dice.choice(["log", "log", "log", "map", "text", "n"])
        match name:
            case "log":
                made["log"] = changed_list(dice, made.get("log", []))
            case "map":
                held = made.setdefault("map", {})
                key = dice.choice("abcdef")
                held[key] = changed_list(dice, []) if dice.random() < 0.3 else dice.choice(WORDS)
            case "text":
                made["text"] = dice.choice(WORDS)
            case "n":
                made["n"] = Number(str(dice.randrange(1000)))
        if dice.random() < 0.05:
            del made[name]
    return made


def changed_list(dice: random.Random, items: list[Any]) -> list[Any]:
    new = [{"t": dice.choice(WORDS), "n": Number(str(dice.randrange(9)))} for _ in range(dice.randrange(3))]
    match dice.randrange(6):
        case 0 if items:
            return [*items[:-1], *new]
        case 1 if items:
            at = dice.randrange(len(items))
            return [*items[:at], *new, *items[at + 1 :]]
        case 2 if items:
            return [dice.choice([item, "other"]) for item in items]
    return [*items, *new]


def hints(parent: Checkpoint, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What a careful client says: nothing that did not change, and of lists that grew only what is new."""
    message: dict[str, Any] = {"changed": {}, "append": {}, "unchanged": []}
    for name, value in after.items():
        old = before.get(name)
        if name in before and old == value:
            message["unchanged"].append(name)
        elif isinstance(value, list) and isinstance(old, list) and value[: len(old)] == old:
            message["append"][name] = value[len(old) :]
        else:
            message["changed"][name] = value
    return {**message, "parent": str(parent.id), "parent_hash": parent.state_hash}


@pytest.fixture(params=["usual", "dense"])
def boundaries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are, and so close together that a short way crosses all of them again and again."""
    if request.param == "dense":
        monkeypatch.setattr(change, "MANIFEST_ROWS", 5)
        monkeypatch.setattr(change, "MANIFEST_BYTES", 2000)
        monkeypatch.setattr(change, "CHUNK", 400)
        monkeypatch.setattr(change, "APART", 300)
        monkeypatch.setattr(values, "WIDE", 120)


@pytest.mark.django_db
@pytest.mark.usefixtures("boundaries")
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_of_several_runs_are_what_the_model_says(cast: Cast, seed: int) -> None:
    """Interleaved, with three runs of one agent: none ever sees what belongs to another."""
    key = make_test_agent(cast.support)[1]
    mains = [start(key=key, body=wire.RunStart(), actor=by_key(key))[0].branches.get() for _ in range(3)]
    dice, model = random.Random(seed), Model(mains)
    for step in range(60):
        if step % 7 == 0:
            recall.forget_all()
        model.step(dice)
    model.check()
    for main in mains:
        model.prune(dice, main.run_id)
    # Rows of one short chain stand on each other; close boundaries are what lets some go.
    assert bool(model.gone) == (change.MANIFEST_ROWS == 5)
    model.check()
    rows = Checkpoint.objects.values_list("run_id", "branch__run_id", "workspace_id")
    assert all(run == of_branch and workspace == cast.workspace.id for run, of_branch, workspace in rows)
    needed: set[tuple[uuid.UUID, bytes]] = set()
    for row in Checkpoint.objects.select_related("branch"):
        named = {hash_ for skeleton in recall.skeletons(recall.rows_of(row)[0]) for hash_ in skeleton.blobs()}
        assert len(recall.blobs_in(row.run_id, named)) == len(named)
        needed |= {(row.run_id, bytes.fromhex(hash_)) for hash_ in named}
    assert {(run, bytes(hash_)) for run, hash_ in Blob.objects.values_list("run_id", "hash")} == needed
