"""Reading recordings: which calls there are, with which results, and which of them act."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from reviewhub_agents.demos.replay import __main__ as command
from reviewhub_agents.demos.replay import recording

from .talks import BOOK, conversation


def test_recordings_may_be_gzipped_or_bare_lists(tmp_path: Path) -> None:
    talk = conversation(BOOK)
    zipped = tmp_path / "a.jsonl.gz"
    zipped.write_bytes(
        gzip.compress(json.dumps(talk).encode() + b"\n\n" + json.dumps(talk["messages"]).encode())
    )
    first, second = recording.read(zipped, name="n", is_write=lambda tool: True)
    assert (first.name, second.name) == ("task 0, trial 0", "conversation 2")
    assert first.turns == second.turns
    assert (first.external_id, second.external_id) == ("n/0", "n/2")


@pytest.mark.parametrize("line", ["{", "[1]", '"x"', '{"messages": 1}', '{"messages": [{}]}', '{"a": NaN}'])
def test_what_is_no_recording_is_said_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(conversation(BOOK)) + "\n" + line)
    with pytest.raises(recording.BadRecording, match="line 2"):
        list(recording.read(file, name="n", is_write=lambda tool: True))


def test_arguments_that_are_no_json_are_shown_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    bad = [("t", text, "r") for text in ("{oops", "[1]", '{"a":NaN}')]
    file.write_text(json.dumps(conversation(*bad)))
    (talk,) = recording.read(file, name="n", is_write=lambda tool: True)
    assert [json.loads(turn.steps[0].arguments_text) for turn in talk.turns] == [
        {"text": "{oops"},
        {"text": "[1]"},
        {"text": '{"a":NaN}'},
    ]


def test_parallel_calls_have_their_own_results(tmp_path: Path) -> None:
    calls = [{"id": id_, "function": {"name": id_, "arguments": "{}"}} for id_ in ("a", "b", "a", "c")]
    messages: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": calls}]
    messages += [
        {"role": "tool", "tool_call_id": id_, "content": text}
        for id_, text in [("b", "2"), ("a", "1"), ("a", "3")]
    ]
    messages += [{"role": "user", "content": "u"}, {"role": "tool", "tool_call_id": "c", "content": "late"}]
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(messages))
    (talk,) = recording.read(file, name="n", is_write=lambda tool: tool == "b")
    steps = talk.turns[0].steps
    assert [str(step.result) for step in steps] == ["1", "2", "3", "None"]
    assert steps[3].error == "The recording has no result."
    assert [step.tool for step in talk.turns[0].some(writes=True)] == ["b"]


def test_what_is_not_known_to_read_acts() -> None:
    acts = command._is_write(command.READS, "")
    reads = (
        "get_user",
        "search_flights",
        "list_all_airports",
        "think",
        "calculate",
        "transfer_to_human_agents",
    )
    assert not any(map(acts, reads))
    assert all(map(acts, ("book_x", "send_x", "refund_order", "GET_user", "get", "thinking", "")))


def test_patterns_say_what_acts() -> None:
    acts = command._is_write("get_*, search", "get_rid_of_*")
    assert [acts(tool) for tool in ("get_x", "search", "searches", "get_rid_of_x")] == [
        False,
        False,
        True,
        True,
    ]


def test_the_readmes_recording_has_a_read_and_a_write() -> None:
    file = Path(__file__).resolve().parent.parent.parent / "docs" / "talk.jsonl"
    (talk,) = recording.read(file, name="n", is_write=command._is_write(command.READS, ""))
    assert [step.is_write for turn in talk.turns for step in turn.steps] == [False, True]
