"""What is remembered of states is bounded by what it takes, not by how long its text is."""

from __future__ import annotations

import gc
import tracemalloc
import uuid

import pytest
from reviewhub_agents import canonical

from reviewhub.checkpoints.place import place
from reviewhub.checkpoints.recall import Tip, cost
from reviewhub.checkpoints.tree import make_state

MANY = 20_000
SHAPES = {
    "numbers": '{"l":[' + ",".join(["1"] * MANY) + "]}",
    "objects": '{"l":[' + ",".join(['{"a":1,"b":"x"}'] * MANY) + "]}",
    "fields": "{" + ",".join(f'"f{n}":1' for n in range(MANY)) + "}",
    "members": '{"w":{' + ",".join(f'"f{n}":[1]' for n in range(MANY)) + "}}",
    "messages": '{"l":[' + ",".join([f'{{"content":"{"x" * 1000}"}}'] * 300) + "]}",
    "text": '{"t":"' + "x" * 300_000 + '"}',
}


def remembered(text: str) -> Tip:
    placed = place(make_state(canonical.parse(text)), on=None)
    assert placed.state.state_hash
    return placed.tip(id_=uuid.uuid4(), run_id=uuid.uuid4())


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_state_takes_is_about_what_it_is_said_to(shape: str) -> None:
    remembered(SHAPES["text"])  # What is made once is made.
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tip = remembered(SHAPES[shape])
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert cost(tip) / 3 < taken < 2 * cost(tip)
