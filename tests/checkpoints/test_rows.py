"""The stored form: what is written is read back, what is damaged is refused, and a state costs what changed."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reviewhub_agents import canonical

from reviewhub.checkpoints import change
from reviewhub.checkpoints.change import Written, write
from reviewhub.checkpoints.rows import WINDOW, BrokenCheckpoint, pack, read_row, slide, unpack, unpack_text
from reviewhub.checkpoints.skeleton import Blobs, Skeleton, Stored
from reviewhub.checkpoints.tree import State, make_state, standing_on

EMPTY = State({})


class Chain:
    """A branch without a database: its rows since the last manifest, and all blobs."""

    def __init__(self) -> None:
        self.state, self.skeleton = EMPTY, Skeleton()
        self.rows: list[str] = []
        self.blobs: dict[str, bytes] = {}

    def save(self, tree: dict[str, Any]) -> Written:
        """Writes `tree` on top of what is there."""
        state = standing_on(self.state, make_state(tree))
        weight = sum(len(row.encode()) for row in self.rows[1:])
        written = write(state, before=self.state, skeleton=self.skeleton, rows=len(self.rows), weight=weight)
        self.rows = [written.text] if written.is_manifest else [*self.rows, written.text]
        self.blobs |= written.blobs
        self.state, self.skeleton = state, written.skeleton
        return written

    def read(self) -> State:
        """The newest state from the rows and blobs alone."""
        skeleton = Skeleton()
        for row in self.rows:
            skeleton.apply(read_row(row))
        return skeleton.resolve(Blobs(self.blobs))


def message(dice: random.Random, size: int = 300) -> dict[str, Any]:
    return {"role": "ai", "content": "".join(dice.choices("abcdefgh \nñ", k=size))}


def test_a_conversation_costs_a_line_a_step_and_each_message_twice() -> None:
    dice, chain = random.Random(1), Chain()
    messages: list[Any] = []
    for step in range(200):
        messages.append(message(dice))
        written = chain.save({"messages": list(messages), "step": canonical.Number(str(step))})
        assert written.is_manifest == (step % 64 == 0)
        assert written.is_manifest or (len(written.text) < 500 and not written.blobs)
        assert chain.read().text == canonical.dumps(
            {"messages": messages, "step": canonical.Number(str(step))}
        )
    assert 190 <= sum(raw.count(b"\n") + 1 for raw in chain.blobs.values()) <= 200


def test_manifests_name_the_same_blobs_again() -> None:
    dice, chain = random.Random(1), Chain()
    messages = [message(dice) for _ in range(10)]
    chain.save({"m": messages, "doc": "x" * 1000})
    first = set(chain.blobs)
    for _ in range(64):
        messages.append(message(dice))
        written = chain.save({"m": list(messages), "doc": "x" * 1000})
    assert written.is_manifest
    assert chain.skeleton.blobs() > first
    assert len(written.blobs) == 1


def test_a_replaced_last_item_costs_one_item() -> None:
    """As in a state of which the last item is put again when an approval comes."""
    dice, chain = random.Random(2), Chain()
    messages = [message(dice) for _ in range(50)]
    chain.save({"m": list(messages)})
    written = chain.save({"m": [*messages[:-1], message(dice)]})
    assert not written.is_manifest
    assert len(written.text.encode()) < 500
    assert chain.read().text == chain.state.text


def test_items_changed_here_and_there_are_written_one_by_one() -> None:
    dice, chain = random.Random(3), Chain()
    items = [message(dice) for _ in range(60)]
    chain.save({"m": list(items)})
    items[3], items[40] = {"a": None}, {"b": None}
    assert json.loads(chain.save({"m": list(items)}).text.split("\n")[0]) == [
        ["[", "m", 40, 1, 1],
        ["[", "m", 3, 1, 1],
    ]
    assert chain.read().text == canonical.dumps({"m": items})


@pytest.mark.parametrize(("places", "splices"), [(16, 16), (17, 1), (2000, 1)])
def test_items_changed_in_many_places_are_written_at_once(places: int, splices: int) -> None:
    """Each operation walks over the list: one for each of thousands of places would take minutes."""
    chain = Chain()
    items = [str(at) for at in range(2 * places + 9)]
    chain.save({"m": list(items)})
    items[4 : 4 + 2 * places : 2] = ["other"] * places
    written = chain.save({"m": list(items)})
    (head, *_) = written.text.split("\n")
    assert len(json.loads(head)) == splices
    assert chain.read().text == canonical.dumps({"m": items})
    assert json.loads(head)[-1][2] == 4
    assert splices > 1 or json.loads(head)[0][3] == 2 * places - 1


def test_a_wide_object_is_written_by_its_members() -> None:
    dice, chain = random.Random(4), Chain()
    wide = {f"k{n}": message(dice) for n in range(80)} | {"log": [message(dice) for _ in range(3)]}
    chain.save({"ctx": wide})
    wide = wide | {"k7": "new", "log": [*wide["log"], "more"]}
    del wide["k8"]
    written = chain.save({"ctx": wide})
    assert json.loads(written.text.split("\n")[0]) == [
        ["-", ["ctx", "k8"]],
        ["=", ["ctx", "k7"]],
        ["[", ["ctx", "log"], 3, 0, 1],
    ]
    assert chain.read().text == canonical.dumps({"ctx": wide})


def test_much_at_once_goes_to_blobs_and_is_not_written_again_by_the_manifest() -> None:
    dice, chain = random.Random(5), Chain()
    chain.save({"m": []})
    written = chain.save({"m": [message(dice, 1000) for _ in range(400)]})
    parts = written.skeleton.nodes["m"].parts  # type: ignore[union-attr]
    assert [type(part) for part in parts] == [Stored] * 4
    kept = set(chain.blobs)
    for _ in range(63):
        written = chain.save({"m": json.loads(chain.state.fields["m"]), "x": message(dice)})
    assert written.is_manifest
    assert kept < chain.skeleton.blobs()


def test_a_row_that_would_grow_too_heavy_is_a_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change, "MANIFEST_BYTES", 1200)
    dice, chain = random.Random(6), Chain()
    made = [chain.save({"m": [message(dice, 400)]}).is_manifest for _ in range(6)]
    assert made == [True, False, False, True, False, False]


def test_every_kind_of_value_may_become_every_other() -> None:
    dice = random.Random(7)
    wide = {f"k{n}": message(dice) for n in range(80)}
    kinds: list[Any] = [
        "short",
        "x" * 300,
        [],
        ["a"],
        [message(dice)] * 90,
        {},
        {"k": None},
        wide,
        {"k": wide},
    ]
    kinds += [wide | {"k1": []}, wide | {"k1": ["x"] * 5}, wide | {"k1": "x" * 999}]
    for before in kinds:
        for after in kinds:
            chain = Chain()
            for tree in ({"f": before}, {"f": after}, {"f": before, "g": after}, {"g": before}, {}):
                chain.save(tree)
                assert chain.read().text == canonical.dumps(tree)
                assert chain.read().state_hash == make_state(tree).state_hash


LISTS = st.lists(st.sampled_from(["a", "b", "c", "x" * 300]), max_size=12)
TREES = st.dictionaries(
    st.sampled_from(["f", "g\n", 'h"']),
    LISTS | st.sampled_from(["x", "y" * 300]) | st.dictionaries(st.sampled_from("ab"), LISTS),
)


@given(st.lists(TREES, max_size=8))
@settings(max_examples=150, deadline=None)
def test_any_way_from_state_to_state_is_read_back(trees: list[dict[str, Any]]) -> None:
    chain = Chain()
    for tree in trees:
        chain.save(tree)
        assert chain.read().text == canonical.dumps(tree)


@pytest.mark.parametrize("raw", [b"", b"short", b"text that packs well, " * 9])
def test_bytes_come_back(raw: bytes) -> None:
    assert unpack(pack(raw)) == raw


def test_a_row_is_packed_with_those_before_it() -> None:
    text = ("a sentence that comes again and again, " * 3).encode()
    alone, after = pack(text + b"1"), pack(text + b"1", window=text + b"0")
    assert len(after) < len(alone)
    assert unpack(after, window=text + b"0") == text + b"1"
    assert unpack(alone, window=text) == text + b"1"
    other = b"another window without any of these words in it, of the same length or so, as it were"
    with contextlib.suppress(BrokenCheckpoint):
        assert unpack(after, window=other) != text + b"1"


@pytest.mark.parametrize("size", [1, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW, 40 * WINDOW])
@pytest.mark.parametrize("before", [1, 300, WINDOW])
def test_rows_of_every_size_come_back_with_every_window(size: int, before: int) -> None:
    dice = random.Random(size)
    raw, window = dice.randbytes(size // 2).hex().encode() + b"x", dice.randbytes(before)
    for one in (raw, window, raw + window, window + raw + window[:300] + raw):
        packed = pack(one, window=window)
        assert unpack(packed, window=window) == one
        if packed[0] == 2:  # As docs/checkpoints.md says it, for whoever writes a reader.
            known = zstandard.ZstdCompressionDict(window, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
            assert zstandard.ZstdDecompressor(dict_data=known).decompress(packed[1:]) == one


@pytest.mark.parametrize("one", [{"write_checksum": True}, {"write_content_size": False}, {"level": 19}])
def test_a_row_whose_frame_another_writer_made(one: dict[str, Any]) -> None:
    window = b"a sentence that comes again and again, " * 40
    known = zstandard.ZstdCompressionDict(window, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    packed = b"\x02" + zstandard.ZstdCompressor(dict_data=known, **one).compress(window + b"and once more")
    if one == {"write_content_size": False}:
        with pytest.raises(BrokenCheckpoint):
            unpack(packed, window=window)
    else:
        assert unpack(packed, window=window) == window + b"and once more"


@pytest.mark.parametrize("seed", range(40))
def test_damage_in_a_row_after_others_is_refused_or_makes_other_bytes(seed: int) -> None:
    dice, window = random.Random(seed), b"a sentence that comes again and again, " * 40
    packed = bytearray(pack(window + b"and once more", window=window))
    packed[dice.randrange(1, len(packed))] ^= 1 << dice.randrange(8)
    for damaged in (bytes(packed), bytes(packed[: dice.randrange(1, len(packed))])):
        with contextlib.suppress(BrokenCheckpoint):
            unpack(damaged, window=window, most=100_000)


def test_the_window_is_the_end_of_what_came_before() -> None:
    assert slide(b"", "é") == "é".encode()
    assert slide(b"x" * WINDOW, "end") == b"x" * (WINDOW - 3) + b"end"


def test_small_rows_are_kept_raw_and_large_ones_packed() -> None:
    assert pack(b"[]") == b"\x00[]"
    assert pack(b"x" * 10_000)[:1] == b"\x01"
    assert len(pack(b"x" * 10_000)) < 100


PACKED = pack(b'[["=","a"]]\n"' + b"x" * 1000 + b'"')


@pytest.mark.parametrize(
    "content",
    [b"", b"\x01", b"\x07" + PACKED[1:], PACKED[:-10], b"\x01not zstd", b"\x00\xff"],
)
def test_damaged_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(BrokenCheckpoint):
        unpack_text(content)


@pytest.mark.parametrize("claims_its_size", [True, False])
def test_a_bomb_does_not_go_off(claims_its_size: bool) -> None:
    packer = zstandard.ZstdCompressor(write_content_size=claims_its_size)
    with pytest.raises(BrokenCheckpoint, match="limit"):
        unpack(b"\x01" + packer.compress(b"0" * 50_000_000), most=1_000_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}x",
        '{"a":1}',
        "[1]",
        '[["=","a"]]',
        '[["=","a"]]\n1\n2',
        '[["=",1]]\n1',
        '[["=",["a"]]]\n1',
        '[["=",["a",1]]]\n1',
        '[["?","a"]]',
        '[["#","a"]]',
        '[["#","a","xy"]]',
        '[["#","a","' + "z" * 64 + '"]]',
        '[["[","a"]]',
        '[["[","a",0.0,0]]',
        '[["[","a",-1,0]]',
        '[["[","a",0,0,true]]',
        '[["[","a",0,0,3]]\n1\n2',
        '[["[","a",0,0,' + "9" * 30 + "]]\n1",
        '[["=","\\ud800"]]\n1',
        '[["=",["a","\\udfff"]]]\n1',
        '[["=","a\\u0000"]]\n1',
        "[" * 100_000,
    ],
)
def test_a_text_that_is_no_row_is_refused(text: str) -> None:
    with pytest.raises(BrokenCheckpoint):
        read_row(text)


@pytest.mark.parametrize(
    "text",
    [
        '[["-","a"]]',
        '[["[","a",1,0]]',
        '[["[","a",0,1]]',
        '[["=","a"],["[","a",0,0]]\n1',
        '[["=",["a","b"]]]\n1',
        '[["=","a"],["=",["a","b"]]]\n1\n2',
        '[["{","a"],["{",["a","b"]]]',
        '[["{","a"],["-",["a","b"]]]',
    ],
)
def test_an_operation_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(BrokenCheckpoint):
        Skeleton().apply(read_row(text))


@pytest.mark.parametrize(
    ("op", "blobs"),
    [
        (["[", "a", 0, 0, [2, "0" * 64]], {}),
        (["[", "a", 0, 0, [2, "0" * 64]], {"0" * 64: b"1\n2\n3"}),
        (["[", "a", 0, 0, [2, "0" * 64]], {"0" * 64: b"1" * 5000 + b"\n2\n" + b"3" * 5000}),
        (["[", "a", 0, 0, [2, "0" * 64]], {"0" * 64: b"1" * 5000}),
        (["#", "a", "0" * 64], {}),
    ],
)
def test_a_blob_that_is_missing_or_has_other_lines_is_refused(op: list[Any], blobs: dict[str, bytes]) -> None:
    skeleton = Skeleton()
    skeleton.apply(read_row(json.dumps([op])))
    with pytest.raises(BrokenCheckpoint):
        skeleton.resolve(Blobs(blobs))
