"""Real conversations, saved as they went: every step reads back equal, and all together cost what they say."""

from __future__ import annotations

import gzip
import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import put, put_message, read

OWN = Path(__file__).resolve().parents[2] / "docs" / "talk.jsonl"
# A file with one {"messages": [...]} a line, gzipped; each tenth of its first hundred is played.
RECORDED = os.environ.get("RECORDED_RUNS", "")
PLAYED = range(0, 100, 10) if RECORDED else range(1)

pytestmark = pytest.mark.django_db


def conversation(which: int) -> list[dict[str, Any]]:
    """The messages of one conversation: the documentation's own, or one of those that were recorded."""
    if not RECORDED:
        (line,) = OWN.read_text(encoding="utf-8").splitlines()
        return canonical.parse(line)  # type: ignore[return-value]
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        (line,) = islice(lines, which, which + 1)
    return canonical.parse(line)["messages"]  # type: ignore[call-overload,index,return-value]


def steps(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The state after each message, as an agent would keep it."""
    results: dict[str, Any] = {}
    states = []
    for at, message in enumerate(messages, 1):
        if message["role"] == "tool":
            results = {**results, f"{message.get('name')}#{at}": message["content"]}
        states.append(
            {"messages": messages[:at], "tool_results": results, "last": message["role"], "step": str(at)}
        )
    return states


@pytest.mark.parametrize("how", ["whole", "hints"])
@pytest.mark.parametrize("which", PLAYED)
def test_a_conversation_reads_back_equal_at_every_step(branch: Branch, which: int, how: str) -> None:
    states = steps(conversation(which))
    saved: list[Checkpoint] = []
    for state in states:
        if how == "whole" or not saved:
            saved.append(put(branch, canonical.dumps(state)))
            continue
        parent = saved[-1]
        hints = {
            "append": {"messages": state["messages"][-1:]},
            "changed": {name: state[name] for name in ("tool_results", "last", "step")},
            "state_hash": put_hash(state),
        }
        branch.refresh_from_db()
        saved.append(
            put_message(branch, {**hints, "parent": str(parent.id), "parent_hash": parent.state_hash})
        )
    recall.forget_all()
    texts = [canonical.dumps(state) for state in states]
    assert [state.text for state in load_states(saved)] == texts
    recall.forget_all()
    assert [read(row) for row in saved[:: len(saved) // 7 + 1]] == texts[:: len(saved) // 7 + 1]
    assert [row.pk for row in history(branch=branch, limit=200).rows] == [row.pk for row in reversed(saved)]
    kept = sum(len(bytes(row.content)) for row in saved)
    kept += sum(len(bytes(data)) for data in Blob.objects.values_list("data", flat=True))
    # What each row costs beside its message counts for little in a conversation that is longer than a few words.
    assert kept < 1.2 * len(texts[-1].encode()) + 100 * len(saved)


def put_hash(state: dict[str, Any]) -> str:
    """The hash of a state as a client computes it, by the formula of the documentation."""
    from hashlib import sha256

    def digest(text: str) -> str:
        return sha256(text.encode()).hexdigest()

    fields = {name: digest(canonical.dumps(value)) for name, value in state.items()}
    return "sha256:" + digest(
        json.dumps({"fields": fields, "version": 1}, sort_keys=True, separators=(",", ":"))
    )
