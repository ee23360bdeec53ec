"""The frozen code that carries states which were kept whole over into rows and blobs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reviewhub_agents import canonical

from reviewhub.checkpoints.change import write
from reviewhub.checkpoints.migrations import _carried_over
from reviewhub.checkpoints.rows import read_row, unpack, unpack_text
from reviewhub.checkpoints.skeleton import Blobs, Skeleton
from reviewhub.checkpoints.tree import read_state, standing_on

MIGRATIONS = Path(_carried_over.__file__).parent


def body(text: str) -> bytes:
    """As the first form kept a state."""
    packed = zstandard.ZstdCompressor(level=3, write_checksum=True).compress(text.encode())
    return b"\x01" + packed if len(packed) < len(text) else b"\x00" + text.encode()


def test_it_stands_on_nothing_that_may_change() -> None:
    """Of the store it uses nothing; later forms of a row are of no concern to it."""
    used = {
        name
        for module in ("0003_carry_over", "_carried_over")
        for node in ast.walk(ast.parse((MIGRATIONS / f"{module}.py").read_text()))
        if isinstance(node, ast.ImportFrom)
        for name in [node.module or ""]
        if name.startswith("reviewhub")
    }
    assert used == {"reviewhub.audit.triggers", "reviewhub.checkpoints.migrations", "reviewhub_agents"}


WORDS = st.text("ab é\u2028", max_size=3)
STATES = st.dictionaries(
    st.sampled_from(["a", "b", "log"]),
    st.one_of(
        st.lists(WORDS, max_size=5),
        st.sampled_from(["x", "y" * 300, "é" * 300]),
        st.just([f"{n}" * 99 for n in range(5)]),
        st.dictionaries(WORDS, st.integers(0, 9), max_size=2),
    ),
    max_size=3,
)


@given(st.lists(STATES, min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_row_of_states_reads_back(states: list[dict[str, Any]]) -> None:
    """What the frozen writer makes, the store reads to the byte, and goes on from, whatever follows on what."""
    tip, rows = _carried_over.Tip(), list[bytes]()
    blobs: dict[str, bytes] = {}
    for number, state in enumerate(states, 1):
        text = canonical.dumps(state)
        fields = _carried_over.read(body(text), read_state(text).state_hash)
        base, content, made, tip = _carried_over.row(fields, on=tip, number=number, begins=number == 1)
        blobs |= {hash_.hex(): unpack(data) for hash_, data in made.items()}
        rows.append(content)
        bones = Skeleton()
        for packed in rows[base - 1 :]:
            bones.apply(read_row(unpack_text(packed)))
        assert bones.resolve(Blobs(blobs)).text == text
        after = read_state(canonical.dumps(states[-number]))
        on = standing_on(bones.resolve(Blobs(blobs)), after)
        written = write(on, before=bones.resolve(Blobs(blobs)), skeleton=bones, rows=number, weight=0)
        bones.apply(read_row(written.text))
        assert bones.resolve(Blobs(blobs | written.blobs)).text == after.text
