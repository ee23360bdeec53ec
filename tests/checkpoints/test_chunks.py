"""How lists share their items, and that sharing never shows."""

from __future__ import annotations

import random
import threading
from hashlib import sha256
from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.checkpoints.chunks import FULL, Chunk, chunks_of
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.values import Items, Text, common, follow, value_of

TEXTS = ['"é"', "1", '"\U0001f378"', "{}", '"a\\nb"']


def listed(texts: list[str]) -> Items:
    return Items(chunks_of(texts))


def stored(*runs: list[str]) -> Items:
    """A list as it is read: its items in blobs."""
    return Items([Chunk.stored("\n".join(run).encode(), count=len(run)) for run in runs])


@pytest.mark.parametrize("count", [1, 2, FULL - 1, FULL, FULL + 1, 3 * FULL + 5])
def test_a_list_is_the_same_however_it_is_held(count: int) -> None:
    texts = [TEXTS[at % len(TEXTS)] for at in range(count)]
    cut = count // 2
    ways = [listed(texts), stored(texts), stored(*filter(None, (texts[:cut], texts[cut:])))]
    grown = listed(texts[:1])
    for text in texts[1:]:
        grown = grown.appended([canonical.parse(text)])
    text = f"[{','.join(texts)}]"
    for way in (*ways, grown):
        assert (way.text, way.texts, way.length) == (text, texts, count)
        assert b"".join(way.raws()) == text.encode()
        assert (way.size, way.digest) == (len(text.encode()), sha256(text.encode()).hexdigest())
        assert way.between(cut, cut + 1) == texts[cut : cut + 1]
        assert common(ways[1], way) == count
        assert follow(ways[1], way) is ways[1]


def test_items_are_added_to_the_last_chunk_until_it_is_full() -> None:
    items = listed(["0"])
    for at in range(1, 3 * FULL):
        before = items.texts
        longer = items.appended([canonical.Number(str(at))])
        assert items.texts == before
        items = longer
    assert [chunk.count for chunk in items.chunks] == [FULL] * 3


@pytest.mark.parametrize("item", ["1", '"' + "long " * 200 + '"'])
def test_lines_are_counted_whether_short_or_long(item: str) -> None:
    raw = "\n".join([item] * 3).encode()
    assert Chunk.stored(raw, count=3).lines == [item] * 3
    for count in (1, 2, 4):
        with pytest.raises(BrokenCheckpoint):
            Chunk.stored(raw, count=count)


def test_two_that_go_on_from_one_list_do_not_meet() -> None:
    base = listed(["1", "2"])
    one, other = base.appended(["a"]), base.appended(["b"])
    assert (base.text, one.text, other.text) == ("[1,2]", '[1,2,"a"]', '[1,2,"b"]')
    assert len({base.digest, one.digest, other.digest}) == 3


@pytest.mark.parametrize("seed", range(20))
def test_a_list_told_again_with_changes_is_the_list_told_anew(seed: int) -> None:
    """Inserted, removed, replaced and appended anywhere, also across the ends of chunks and after hints."""
    dice = random.Random(seed)
    tree: list[Any] = [str(dice.randrange(5)) for _ in range(dice.randrange(2 * FULL))]
    known = value_of(list(tree))
    for _ in range(12):
        at = dice.randrange(len(tree) + 1)
        new = [str(dice.randrange(5)) for _ in range(dice.randrange(3))]
        act = dice.choice(["append", "append", "hint", "replace", "insert"])
        if act == "hint" and new:
            assert isinstance(known, Items)
            known, tree = known.appended(new), [*tree, *new]
            continue
        tree = {"replace": [*tree[:at], *new, *tree[at + 1 :]], "insert": [*tree[:at], *new, *tree[at:]]}.get(
            act, [*tree, *new]
        )
        known = follow(known, value_of(list(tree), old=known))
        fresh = value_of(list(tree))
        assert (known.text, known.digest, known.size) == (fresh.text, fresh.digest, fresh.size)


def test_what_is_told_again_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = [f"item {at}" for at in range(3 * FULL)]
    known = value_of(list(tree))
    tree[FULL + 1] = "other"
    written: list[Any] = []
    dumps = canonical.dumps
    monkeypatch.setattr(canonical, "dumps", lambda item: written.append(item) or dumps(item))
    value_of([*tree, "new"], old=known)
    assert written == ["other", "new"]


def test_lines_that_are_not_text_are_damage() -> None:
    with pytest.raises(BrokenCheckpoint):
        _ = Chunk.stored(b"\xff", count=1).lines
    with pytest.raises(BrokenCheckpoint):
        _ = Text(b"\xff").text


class Slow(str):
    """A text whose bytes take until they are asked for elsewhere."""

    busy, over = threading.Event(), threading.Event()

    def encode(self, *args: Any) -> bytes:
        self.busy.set()
        assert self.over.wait(10)
        return super().encode(*args)


def test_who_hashes_much_keeps_nobody_from_hashing() -> None:
    slow = threading.Thread(target=lambda: Text(Slow("x")).digest)
    slow.start()
    assert Slow.busy.wait(10)
    quick: list[str] = []
    other = threading.Thread(target=lambda: quick.append(Text("y").digest))
    other.start()
    other.join(2)
    done = list(quick)
    Slow.over.set()
    slow.join()
    other.join()
    assert done == [sha256(b"y").hexdigest()]
