"""What the model is told: who answered, whether it ran, why, and what not to do next."""

from typing import Any

import pytest

from reviewhub.toolcalls.modeltext import model_text
from reviewhub.toolcalls.states import DecisionType

ARGUMENTS, ORIGINAL = '{"amount":"10"}', '{"amount":"100"}'


def told(type_: str, **fields: Any) -> str:
    given: dict[str, Any] = {
        "type": type_,
        "tool": "refund",
        "by_kind": "person",
        "by_names": ["Bob"],
        "message": "",
        "arguments": ARGUMENTS,
        "original": ARGUMENTS,
        **fields,
    }
    return model_text(**given)


@pytest.mark.parametrize("type_", DecisionType.values)
def test_every_outcome_has_a_text_that_names_the_tool(type_: str) -> None:
    assert "refund" in told(type_, value="null")


@pytest.mark.parametrize(
    ("type_", "fields", "says"),
    [
        ("approve", {}, ["Bob approved", "exactly as approved"]),
        (
            "reject",
            {},
            ["Bob rejected", "not executed", "human decision", "Do not ask for the same call again"],
        ),
        (
            "deny",
            {"by_kind": "policy", "by_names": ["policy v3"]},
            ["Policy denied", "not executed", "no person"],
        ),
        ("expire", {"by_kind": "timeout", "by_names": [""]}, ["Nobody reviewed", "in time", "not executed"]),
        ("expire", {"by_kind": "timeout", "allowed": True}, ["Nobody reviewed", "in time", "may run"]),
        ("respond", {"value": '{"a":1}'}, ['{"a":1}', "not executed"]),
        ("withdraw", {"by_kind": "agent", "by_names": ["Support agent"]}, ["withdrawn", "not executed"]),
        ("cancel", {}, ["cancelled by", "Bob", "not executed"]),
        ("skip", {}, ["Nobody knows", "go on without"]),
        ("happened", {"value": '{"id":1}'}, ["did happen", '{"id":1}', "Do not ask"]),
        ("did_not_happen", {}, ["did not happen", "may run now"]),
    ],
)
def test_what_each_outcome_says(type_: str, fields: dict[str, Any], says: list[str]) -> None:
    text = told(type_, **fields)
    assert [part for part in says if part not in text] == []


@pytest.mark.parametrize("type_", ["reject", "deny", "expire", "respond", "withdraw", "cancel"])
def test_what_did_not_run_is_said_not_to_have_run(type_: str) -> None:
    assert "not executed" in told(type_, value="1")


@pytest.mark.parametrize("type_", ["edit", "approve"])
def test_b11_an_edit_says_what_runs_instead_of_what(type_: str) -> None:
    text = told(type_, original=ORIGINAL, message="limit is 10")
    assert f"Executed arguments: {ARGUMENTS}" in text
    assert ORIGINAL in text
    assert "limit is 10" in text
    assert "Do not issue the original call" in text


def test_b59_words_are_repeated_exactly_and_missing_words_leave_a_clear_text() -> None:
    assert "use staging, not prod \u2602" in told("reject", message="use staging, not prod \u2602")
    assert "Their words" not in told("reject", message="")
    assert "Do not ask for the same call again" in told("reject", message="")


@pytest.mark.parametrize("allowed", [True, False])
def test_b33_a_deadline_is_never_told_as_a_person(allowed: bool) -> None:
    text = told("expire", by_kind="timeout", by_names=[""], allowed=allowed).lower()
    assert not [word for word in ("declined", "rejected", "human decision", "reviewer") if word in text]


@pytest.mark.parametrize("value", ["false", "0", '""', "null"])
def test_b06_falsy_answers_are_told(value: str) -> None:
    assert value in told("respond", value=value)


def test_b11_what_a_person_changed_and_silence_let_run_is_told() -> None:
    silence = {"by_kind": "timeout", "by_names": [""], "original": ORIGINAL, "edited_by": "Bob"}
    text = told("expire", allowed=True, has_votes=True, **silence)
    for part in (
        "Bob changed",
        f"Executed arguments: {ARGUMENTS}",
        ORIGINAL,
        "Do not issue the original call",
    ):
        assert part in text, text
    assert "Executed" not in told("expire", **silence)
