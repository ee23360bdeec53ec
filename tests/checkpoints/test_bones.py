"""A list as its rows tell it: splices make what they say, and cost what they touch."""

from __future__ import annotations

import random

import pytest

from reviewhub.checkpoints import skeleton
from reviewhub.checkpoints.rows import BrokenCheckpoint, Part, Stored
from reviewhub.checkpoints.skeleton import Bones, count


def told(bones: Bones) -> list[str]:
    """Each item by where it comes from."""
    return [
        item
        for part in bones.parts
        for item in (
            [f"{part.hash}/{at}" for at in range(part.start, part.stop)] if isinstance(part, Stored) else part
        )
    ]


def some(dice: random.Random, name: str) -> list[Part]:
    """Parts as a row puts them: loose items, whole blobs, or nothing."""
    many = dice.randrange(4)
    loose: list[Part] = [[f"{name}.{at}" for at in range(many)]] if many else []
    return [*loose, Stored(name, 5, 0, 5)] if dice.random() < 0.4 else loose


@pytest.mark.parametrize("seed", range(60))
def test_splices_are_those_of_a_list(seed: int) -> None:
    dice, bones, model = random.Random(seed), Bones(), []
    for step in range(60):
        at = dice.randrange(len(model) + 1)
        cut = dice.randrange(min(4, len(model) - at) + 1)
        put = some(dice, str(step))
        before, was = bones.copy(), list(model)
        bones.splice(at, cut, put)
        model[at : at + cut] = told(Bones(put))
        assert told(bones) == model and told(before) == was
        assert bones.length == len(model) and bones.counts == [count(part) for part in bones.parts]
        assert 0 not in bones.counts
        loose = [isinstance(part, list) for part in bones.parts]
        assert not any(a and b for a, b in zip(loose, loose[1:], strict=False)), "loose items stand together"
        start, stop = sorted((dice.randrange(len(model) + 1), dice.randrange(len(model) + 1)))
        inside = list(bones.between(start, stop))
        assert told(Bones(inside)) == model[start:stop]


def test_what_is_not_there_is_not_replaced() -> None:
    bones = Bones()
    bones.splice(0, 0, [["a", "b"]])
    for at, cut in ((0, 3), (2, 1), (3, 0)):
        with pytest.raises(BrokenCheckpoint):
            bones.splice(at, cut, [["x"]])
    assert told(bones) == ["a", "b"]


def test_a_splice_takes_only_the_parts_apart_that_it_meets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of many splices made reading a list of a thousand parts take seconds."""
    bones = Bones()
    for n in range(1000):
        bones.splice(bones.length, 0, [Stored(f"{n}", 20, 0, 20)])
    looked_at, count_ = [], skeleton.count
    monkeypatch.setattr(skeleton, "count", lambda part: looked_at.append(part) or count_(part))  # type: ignore[func-returns-value]
    for n in range(500):
        bones.splice(40 * n + 7, 1, [[f"new {n}"]])
    assert len(bones.parts) == 2000
    assert len(looked_at) < 500 * 40
