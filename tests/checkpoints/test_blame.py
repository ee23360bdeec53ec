"""Which step changed, introduced or lost a value; and several states read at once."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from reviewhub_agents import canonical

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.blame import blame
from reviewhub.checkpoints.difference import difference
from reviewhub.checkpoints.find import find
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import CorruptCheckpoint, load_states
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.walk import back, value_in
from reviewhub.core.errors import Invalid
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import BOB, put, read
from tests.checkpoints.test_damage import damage
from tests.shared import shared

BIG = "long text " * 40


@shared
def way(branch: Branch) -> list[Checkpoint]:
    """Five steps: amount 1, 2, 2, gone, 2."""
    states: list[dict[str, Any]] = [
        {"amount": 1, "log": ["a"]},
        {"amount": 2, "log": ["a", {"doc": BIG}]},
        {"amount": 2, "log": ["a", {"doc": BIG}, "c"]},
        {"log": ["b", {"doc": BIG}, "c"]},
        {"amount": 2, "log": ["b", {"doc": BIG}]},
    ]
    return [put(branch, canonical.dumps(state), step=step) for step, state in enumerate(states)]


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/amount", 5),
        ("/log", 5),
        ("/log/0", 4),
        ("/log/1", 2),
        ("/log/1/doc", 2),
        ("/log/2", 5),
        ("/log/3", None),
        ("/log/x", None),
        ("/log/1/nothing", None),
        ("/nothing", None),
        ("/nothing/at/all", None),
    ],
)
def test_blame_names_the_last_change(way: list[Checkpoint], path: str, number: int | None) -> None:
    found = blame(checkpoint=way[-1], path=path).checkpoint
    assert (found.number if found else None) == number
    assert found is None or (found.step, found.author_name) == (number - 1, "Support agent")  # type: ignore[operator]


def test_blame_at_an_older_point_knows_nothing_of_later_ones(way: list[Checkpoint]) -> None:
    assert blame(checkpoint=way[2], path="/amount").checkpoint == way[1]
    assert blame(checkpoint=way[3], path="/amount").checkpoint == way[3]
    assert blame(checkpoint=way[0], path="/amount").checkpoint == way[0]


def test_blame_goes_across_forks_to_the_person_who_changed_it(way: list[Checkpoint]) -> None:
    changes = [{"op": "set", "path": "/log/0", "value": "mine"}]
    made, first = fork(checkpoint=way[2], name=None, changes=changes, reason="wrong", actor=BOB)
    last = put(made, read(first).replace("2", "3"))
    found = blame(checkpoint=last, path="/log/0").checkpoint
    assert found is not None
    assert (found, found.author_name, found.reason) == (first, "Bob", "wrong")
    assert blame(checkpoint=last, path="/log/1").checkpoint == way[1]
    assert blame(checkpoint=last, path="/amount").checkpoint == last


@pytest.mark.parametrize(
    ("path", "value", "introduced", "lost"),
    [
        ("/amount", canonical.Number("1"), 1, 2),
        ("/amount", canonical.Number("2"), 2, 4),
        ("/amount", canonical.Number("2.0"), None, None),
        ("/log/1/doc", BIG, 2, None),
        ("/log/0", "a", 1, 4),
        ("/log/0", "b", 4, None),
        ("/log/2", "c", 3, 5),
        ("/log/1", {"doc": BIG}, 2, None),
        ("/nothing", None, None, None),
    ],
)
def test_find_names_where_a_value_came_and_went(
    way: list[Checkpoint], path: str, value: Any, introduced: int | None, lost: int | None
) -> None:
    found = find(checkpoint=way[-1], path=path, value=value)
    numbers = [each.number if each else None for each in (found.introduced, found.lost)]
    assert numbers == [introduced, lost]


@pytest.mark.parametrize("path", ["", "amount", "/a~2"])
def test_a_path_is_a_pointer_below_the_state(way: list[Checkpoint], path: str) -> None:
    with pytest.raises(Invalid):
        blame(checkpoint=way[-1], path=path)
    with pytest.raises(Invalid):
        find(checkpoint=way[-1], path=path, value=None)


def test_what_is_damaged_is_not_blamed(way: list[Checkpoint]) -> None:
    damage(Checkpoint.objects.filter(pk=way[1].pk), content=b"\x00[]")
    for act in (
        lambda: blame(checkpoint=way[-1], path="/log/1").checkpoint,
        lambda: find(checkpoint=way[-1], path="/log/0", value="a"),
        lambda: load_states(way),
    ):
        with pytest.raises(CorruptCheckpoint):
            act()
    recall.forget_all()


def test_values_are_followed_as_a_model_says(branch: Branch) -> None:
    """Random steps over manifests, wide objects and blobs; every value at every step, and what blame makes of them."""
    dice = random.Random(11)
    state: dict[str, Any] = {
        "wide": {f"k{n}": BIG[: 300 + n] for n in range(60)} | {"l": []},
        "log": [],
        "n": 0,
    }
    rows, trees = [], []
    for step in range(150):
        state = step_of(dice, state, step)
        rows.append(put(branch, canonical.dumps(state)))
        trees.append(state)
    for path in ("/n", "/wide/k3", "/wide/l", "/wide/l/0", "/wide/new", "/log/5", "/log/5/t", "/wide"):
        keys = path.split("/")[1:]
        values = [value_in(canonical.dumps(tree), keys) for tree in trees]
        assert [sight.value for sight in back(rows[-1], path)] == values[::-1]
        changed = [at for at in range(150) if at == 0 or values[at] != values[at - 1]]
        if values[0] is None:
            changed = changed[1:]
        found = blame(checkpoint=rows[-1], path=path).checkpoint
        assert found == (rows[changed[-1]] if changed else None)


def step_of(dice: random.Random, state: dict[str, Any], step: int) -> dict[str, Any]:
    wide = dict(state["wide"])
    match dice.randrange(5):
        case 0:
            return {**state, "n": step}
        case 1:
            return {**state, "log": [*state["log"], {"t": BIG[: dice.randrange(400)]}]}
        case 2:
            wide[f"k{dice.randrange(8)}"] = dice.choice(["x", BIG[:290], None])
        case 3:
            wide["l"] = [*wide["l"], step]
        case 4:
            wide = (
                {name: value for name, value in wide.items() if name != "new"}
                if "new" in wide
                else {
                    **wide,
                    "new": [],
                }
            )
    return {**state, "wide": wide}


def test_neighbours_are_read_together(branch: Branch) -> None:
    texts = [canonical.dumps({"log": [BIG + str(n) for n in range(step)]}) for step in range(70)]
    rows = [put(branch, text) for text in texts]
    recall.forget_all()
    recent = history(branch=branch, limit=20).rows
    with CaptureQueriesContext(connection) as seen:
        states = load_states(recent)
    assert [state.text for state in states] == texts[:49:-1]
    assert len(seen) <= 5
    assert [state.text for state in load_states([rows[3], rows[66], rows[2]])] == [
        texts[3],
        texts[66],
        texts[2],
    ]


def test_of_two_states_only_what_differs_is_parsed(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {f"k{n}": BIG + str(n) for n in range(60)}
    before = put(branch, canonical.dumps({"log": [BIG] * 50, "same": [BIG], "wide": wide}))
    after = put(
        branch, canonical.dumps({"log": [*[BIG] * 50, "x"], "same": [BIG], "wide": {**wide, "k1": "y"}})
    )
    parsed: list[str] = []
    parse = canonical.parse
    monkeypatch.setattr(
        canonical, "parse", lambda text, **limits: parsed.append(text) or parse(text, **limits)
    )
    found = difference(before, after)
    assert [change.path for change in found.changes] == ["/log/50", "/wide/k1"]
    assert parsed == ['"x"', canonical.dumps(BIG + "1"), '"y"']
