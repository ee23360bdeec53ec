"""Whatever is saved comes back; whatever tree of saves and forks is grown, each branch is what a model says it is."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number

from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import SYSTEM
from reviewhub.runs.models import Branch
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


class Model:
    """The same tree as plain Python: for each branch the list of states on the way to its head."""

    def __init__(self, main: Branch) -> None:
        self.branches: dict[Branch, list[tuple[Checkpoint, str]]] = {main: []}

    def step(self, dice: random.Random) -> None:
        """One random act: save a whole state, save by hints, or fork from anywhere."""
        branch = dice.choice(list(self.branches))
        way = self.branches[branch]
        act = dice.choice(["whole", "hints", "hints", "fork"]) if way else "whole"
        if act == "fork":
            self.fork(dice, dice.randrange(len(way)), way)
        else:
            state = self.hinted(dice, *way[-1]) if act == "hints" else self.whole(dice)
            text, message = state
            way.append((put_message(branch, message), text))

    def fork(self, dice: random.Random, at: int, way: list[tuple[Checkpoint, str]]) -> None:
        changes = [{"op": "set", "path": "/forked", "value": Number(str(dice.randrange(100)))}]
        changes = changes if dice.random() < 0.5 else []
        made, first = fork(checkpoint=way[at][0], name=None, changes=changes, reason="", actor=SYSTEM)
        state = canonical.parse(way[at][1])
        assert isinstance(state, dict)
        if changes:
            state["forked"] = changes[0]["value"]
        self.branches[made] = [*way[: at + 1], (first, canonical.dumps(state))]

    def whole(self, dice: random.Random) -> tuple[str, dict[str, Any]]:
        state = {
            "log": [Number(str(n)) for n in range(dice.randrange(4))],
            "at": Number(str(dice.randrange(9))),
        }
        return canonical.dumps(state), {"state": state}

    def hinted(self, dice: random.Random, parent: Checkpoint, text: str) -> tuple[str, dict[str, Any]]:
        state = canonical.parse(text)
        assert isinstance(state, dict)
        log = state["log"]
        assert isinstance(log, list)
        item, other = Number(str(dice.randrange(1000))), Number(str(dice.randrange(1000)))
        after = {**state, "log": [*log, item], "changed": other}
        hints = {
            "changed": {"changed": other},
            "append": {"log": [item]},
            "unchanged": [name for name in state if name not in ("log", "changed")],
        }
        message = {**hints, "parent": str(parent.id), "parent_hash": parent.state_hash}
        return canonical.dumps(after), message


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(4))
def test_a_random_tree_is_what_the_model_says(branch: Branch, seed: int) -> None:
    dice, model = random.Random(seed), Model(branch)
    for _ in range(25):
        model.step(dice)
    for each, way in model.branches.items():
        each.refresh_from_db()
        rows = history(branch=each, limit=200).rows
        assert [row.id for row in rows] == [checkpoint.id for checkpoint, _ in reversed(way)]
        assert each.head == (way[-1][0].id if way else None)
        for checkpoint, text in way:
            assert read(checkpoint) == text
