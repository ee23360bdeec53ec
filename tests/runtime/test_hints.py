"""What a save sends of a state: the fields that changed and the items that were added, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents import canonical
from reviewhub_agents.runtime.hints import hints, saved
from reviewhub_agents.runtime.state import StateText, dump, load
from reviewhub_agents.runtime.texts import Texts


class Turn(BaseModel):
    who: str
    said: str


class Talk(BaseModel):
    n: Any = 0
    turns: list[Any] = []
    notes: dict[str, Any] = {}


def text_of(**fields: Any) -> StateText:
    return dump(Talk(**fields))


TURN = {"said": "a", "who": "me"}


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ({"n": 1}, {"n": 1}, {"unchanged": ["n", "notes", "turns"]}),
        ({"n": 1}, {"n": 2}, {"changed": {"n": "2"}, "unchanged": ["notes", "turns"]}),
        ({"n": 1}, {"n": 1.0}, {"changed": {"n": "1.0"}, "unchanged": ["notes", "turns"]}),
        ({"n": True}, {"n": 1}, {"changed": {"n": "1"}, "unchanged": ["notes", "turns"]}),
        ({"turns": [1]}, {"turns": [1, 2, 3]}, {"append": {"turns": "[2,3]"}, "unchanged": ["n", "notes"]}),
        ({"turns": [1]}, {"turns": [12]}, {"changed": {"turns": "[12]"}, "unchanged": ["n", "notes"]}),
        (
            {"turns": [[1]]},
            {"turns": [[1, 2]]},
            {"changed": {"turns": "[[1,2]]"}, "unchanged": ["n", "notes"]},
        ),
        ({"turns": []}, {"turns": [1]}, {"changed": {"turns": "[1]"}, "unchanged": ["n", "notes"]}),
        ({"turns": [1, 2]}, {"turns": [1]}, {"changed": {"turns": "[1]"}, "unchanged": ["n", "notes"]}),
        (
            {"turns": ["a"]},
            {"turns": ["a", "b"]},
            {"append": {"turns": '["b"]'}, "unchanged": ["n", "notes"]},
        ),
        ({"n": "[1]"}, {"n": "[1,2]"}, {"changed": {"n": '"[1,2]"'}, "unchanged": ["notes", "turns"]}),
    ],
)
def test_what_changed(before: dict[str, Any], after: dict[str, Any], wanted: dict[str, Any]) -> None:
    found = hints(text_of(**before).fields, text_of(**after))
    for what in ("changed", "append"):
        assert {name: canonical.dumps(one) for name, one in found[what].items()} == wanted.get(what, {})
    assert sorted(found["unchanged"]) == wanted["unchanged"]


def applied(before: str, found: dict[str, Any]) -> str:
    """What stands after them, by their meaning."""
    old: Any = canonical.reread(before)
    kept = {name: old[name] for name in found["unchanged"]}
    longer = {name: [*old[name], *items] for name, items in found["append"].items()}
    return canonical.dumps({**kept, **longer, **found["changed"]})


@pytest.mark.parametrize("seed", range(40))
def test_they_make_the_same_state_to_the_letter(seed: int) -> None:
    dice = random.Random(seed)
    values: list[Any] = [
        0,
        1,
        1.5,
        -0.0,
        True,
        None,
        'a\n"\\',
        "é\u2028😀",
        [],
        [1],
        {"b": [2]},
        Turn(who="x", said="y"),
    ]
    state, before, texts = Talk(), dump(Talk()), Texts()
    for _ in range(20):
        match dice.randrange(5):
            case 0:
                state.n = dice.choice(values[:9])
            case 1:
                state.turns += [dice.choice(values[:11]) for _ in range(dice.randint(1, 3))]
            case 2 if state.turns:
                state.turns[dice.randrange(len(state.turns))] = dice.choice(values[:11])
            case 3 if state.turns:
                state.turns.pop()
            case _:
                state.notes[dice.choice("abc")] = dice.choice(values[:11])
        text = dump(state, texts=texts)
        assert text == dump(state) == canonical.joined(text.fields) == canonical.dumps(canonical.reread(text))
        assert applied(before, hints(before.fields, text)) == text
        before, state = text, load(Talk, text)


def test_where_fields_are_not_known_there_are_none() -> None:
    known = text_of(n=1)
    assert hints(known.fields, str(known)) == {}
    assert saved(str(known), "sha256:0") is None


def test_what_was_read_when_it_was_written_is_the_state_of_the_first_who_asks() -> None:
    state = Talk(turns=[TURN])
    text = dump(state)
    read = text.take()
    assert read == state
    assert read is not state
    assert isinstance(read, Talk)
    assert read.turns is not state.turns
    assert text.take() is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ([1], [True]),
        ([1, 2], [1]),
        ([[1]], [[1, 2]]),
        ("1", 1),
        ([], [1]),
        ({}, []),
    ],
)
def test_what_is_equal_to_what_was_is_not_taken_for_it(one: Any, other: Any) -> None:
    for first, second in ((one, other), (other, one)):
        texts = Texts()
        for value in (first, second, first, first):
            assert texts.of({"x": value}) == {"x": canonical.dumps(value)}


def test_what_cannot_be_kept_is_refused_with_its_path_also_behind_what_was_kept() -> None:
    texts = Texts()
    texts.of({"turns": ["a"]})
    for bad in (["a", "\0"], ["a", float("nan")], [object()]):
        with pytest.raises(canonical.BadJson, match="/turns/"):
            texts.of({"turns": bad})
