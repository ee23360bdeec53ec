"""The messages: exact values, exact enums, null told from nothing, faults named by path."""

import inspect
import json
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from reviewhub_agents import wire
from reviewhub_agents.canonical import BadJson, Number, parse

DIGEST = "sha256:" + "0" * 64
ID = "0190a6b2-6f1c-7c3e-9d2a-3b1f0c5d7e42"
CALL = {"tool": "payments.refund", "arguments": {"amount": "1.00"}}
MESSAGES = [
    member
    for name in wire.__all__
    if inspect.isclass(member := getattr(wire, name)) and issubclass(member, wire.Wire)
]


def faults(message: type[wire.Wire], body: Any) -> list[tuple[str, str]]:
    """Path and code of each fault when `body` is read as `message`."""
    with pytest.raises(wire.BadBody) as caught:
        message.from_text(json.dumps(body))
    assert caught.value.code == "invalid"
    assert all(fault["message"] for fault in caught.value.errors)
    return [(fault["path"], fault["code"]) for fault in caught.value.errors]


def decide(**fields: Any) -> wire.DecideBody:
    return wire.DecideBody.from_text(json.dumps({"version": 1, "digest": DIGEST, **fields}))


# ---- exact values ---------------------------------------------------------------------------------


def test_b10_arguments_pass_through_untouched() -> None:
    text = '{"tool_calls":[{"arguments":{"amt":0.10,"exp":1E2,"huge":12345678901234567890123},"tool":"t"}]}'
    body = wire.PauseBody.from_text(text)
    assert body.tool_calls[0].arguments == {
        "amt": Number("0.10"),
        "exp": Number("1E2"),
        "huge": Number("12345678901234567890123"),
    }
    assert body.to_text() == text
    assert body.tool_calls[0].canonical_arguments == '{"amt":0.10,"exp":1E2,"huge":12345678901234567890123}'


def test_arguments_text_is_the_same_call() -> None:
    by_text = wire.ToolCallIn(tool="t", arguments_text='{"b": 1E2, "a": "\\u00e9"}')
    assert by_text.canonical_arguments == '{"a":"é","b":1E2}'
    assert wire.ToolCallIn(tool="t", arguments={"a": 1, "d": Decimal("0.10")}).canonical_arguments == (
        '{"a":1,"d":0.10}'
    )
    assert faults(wire.ToolCallIn, {"tool": "t"}) == [("", "invalid")]
    assert faults(wire.ToolCallIn, {**CALL, "arguments_text": "{}"}) == [("", "invalid")]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a":[1,NaN]}', "/arguments_text/a/1"),
        ("[]", "/arguments_text"),
        ("{", "/arguments_text"),
        (r'{"a":"\u0000"}', "/arguments_text/a"),
        ('{"a":1,"a":1}', "/arguments_text/a"),
    ],
)
def test_a_fault_inside_the_text_has_its_own_path(text: str, path: str) -> None:
    assert faults(wire.ToolCallIn, {"tool": "t", "arguments_text": text}) == [(path, "invalid")]


def test_python_values_that_are_no_json_are_refused_by_path() -> None:
    for value in [datetime(2026, 1, 1, tzinfo=UTC), UUID(ID), (1,), wire.Effect.ONCE, b"x"]:
        body = wire.OutcomeBody(status=wire.OutcomeStatus.SUCCEEDED, result={"a": [value]})
        with pytest.raises(BadJson) as caught:
            body.to_text()
        assert caught.value.errors[0]["path"] == "/result/a/0"


# ---- decisions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type_",
    [
        None,
        "",
        "Approve",
        "Approve ",
        " approve",
        "APPROVE",
        "approved",
        "false",
        1,
        0,
        True,
        False,
        [],
        {},
        "deny",
    ],
)
def test_b06_the_type_is_one_exact_word(type_: object) -> None:
    assert faults(wire.DecideBody, {"type": type_, "version": 1, "digest": DIGEST}) == [("/type", "invalid")]


@pytest.mark.parametrize("body", [{}, [], {"decision": None}, {"approve": "no"}, "approve", None, True])
def test_b06_a_body_without_a_type_is_refused(body: object) -> None:
    found = faults(wire.DecideBody, body)
    assert ("/type", "missing") in found or found == [("", "invalid")]


@pytest.mark.parametrize("value", [False, 0, "", None, [], {}, {"0123456789abcdef0123456789abcdef": 1}])
def test_b06_falsy_answers_are_answers(value: object) -> None:
    body = decide(type="respond", value=value)
    assert body.was_given("value")
    assert json.loads(body.to_text())["value"] == value
    assert type(json.loads(body.to_text())["value"]) is type(value)


def test_b06_no_answer_is_none() -> None:
    with pytest.raises(wire.BadBody, match="needs a value"):
        decide(type="respond")
    assert not decide(type="approve").was_given("value")
    assert "value" not in decide(type="approve").to_tree()


def test_a_decision_carries_only_what_fits_its_type() -> None:
    change = {"op": "set", "path": "/a", "value": None}
    assert decide(type="edit", changes=[change]).changes[0].was_given("value")
    assert decide(type="happened", value={"ok": True}).was_given("value")
    for bad in [
        {"type": "edit"},
        {"type": "edit", "changes": []},
        {"type": "approve", "changes": [change]},
        {"type": "approve", "value": 1},
        {"type": "reject", "value": None},
    ]:
        with pytest.raises(wire.BadBody):
            decide(**bad)


@pytest.mark.parametrize(
    "change",
    [
        {"op": "set", "path": "/a"},
        {"op": "remove", "path": "/a", "value": 1},
        {"op": "set", "path": "a", "value": 1},
        {"op": "Set", "path": "/a", "value": 1},
        {"op": "set", "path": "/a", "value": 1, "x": 1},
    ],
)
def test_changes_are_exact(change: dict[str, Any]) -> None:
    assert faults(wire.Change, change)


def test_b13_a_bulk_without_ids_is_refused_whole() -> None:
    entry = {"type": "approve", "version": 1, "digest": DIGEST}
    found = faults(wire.BulkDecideBody, {"decisions": [{**entry, "request": ID}, entry]})
    assert found == [("/decisions/1/request", "missing")]
    assert faults(wire.BulkDecideBody, {"decisions": []}) == [("/decisions", "invalid")]


# ---- single fields --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [True, 1.0, "1", 0, -1, 10**20, None])
def test_integers_are_integers(version: object) -> None:
    assert faults(wire.DecideBody, {"type": "approve", "version": version, "digest": DIGEST}) == [
        ("/version", "invalid")
    ]
    with pytest.raises(wire.BadBody):
        wire.DecideBody.from_text(f'{{"type":"approve","version":1E0,"digest":"{DIGEST}"}}')


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT15M", 900),
        ("P2D", 172_800),
        ("P1W", 604_800),
        ("PT1H30M", 5400),
        ("P1DT0.5S", 86_400.5),
        ("PT90S", 90),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    call = wire.ToolCallIn.from_text(json.dumps({**CALL, "deadline": text}))
    assert call.deadline == timedelta(seconds=seconds)
    assert wire.ToolCallIn.from_text(call.to_text()) == call


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P1Y", "P1M", "15m", "PT-1M", "PT0S", "P367D", "P1DT", 900, None, "pt1m"]
)
def test_bad_durations(text: object) -> None:
    body = {"tool": "t", "arguments": {}, "deadline": text}
    if text is None:
        assert wire.ToolCallIn.from_text(json.dumps(body)).deadline is None
    else:
        assert faults(wire.ToolCallIn, body) == [("/deadline", "invalid")]


def test_times_are_utc_with_a_z() -> None:
    east = datetime(2026, 3, 29, 1, 30, tzinfo=timezone(timedelta(hours=1)))
    claim = wire.ClaimOut(epoch=1, lease_until=east)
    assert claim.to_text() == '{"epoch":1,"lease_until":"2026-03-29T00:30:00Z"}'
    assert wire.ClaimOut.from_text(claim.to_text()) == claim
    for bad in ["2026-03-29T01:30:00", "2026-03-29", "2026-13-29T01:30:00Z", 1, "2026-03-29 01:30:00Z", ""]:
        assert faults(wire.ClaimOut, {"epoch": 1, "lease_until": bad}) == [("/lease_until", "invalid")]


@pytest.mark.parametrize("text", ["", "x", ID[:-1], ID.replace("-", ""), "{" + ID + "}", 5, None])
def test_ids_have_one_form(text: object) -> None:
    assert faults(wire.CheckpointRef, {"id": text, "hash": DIGEST}) == [("/id", "invalid")]


def test_text_is_bounded_in_bytes_and_the_limit_is_named() -> None:
    limits = wire.Limits()
    with pytest.raises(wire.BadBody, match="64002 bytes; the limit is 64000") as refused:
        wire.AnswerBody.from_tree({"text": "é" * 32_001}, limits=limits)
    assert [(one["path"], one["code"]) for one in refused.value.errors] == [("/text", "too_large")]
    assert wire.AnswerBody.from_tree({"text": "é" * 32_000}, limits=limits)
    assert wire.AnswerBody.from_tree({"text": "é" * 32_001}), (
        "the server says what it takes, and may take more"
    )


def test_a_pause_has_one_to_twenty_calls() -> None:
    assert faults(wire.PauseBody, {"tool_calls": []}) == [("/tool_calls", "invalid")]
    with pytest.raises(wire.BadBody, match="21 tool calls; the limit is 20") as refused:
        wire.PauseBody.from_tree({"tool_calls": [CALL] * 21}, limits=wire.Limits())
    assert [(one["path"], one["code"]) for one in refused.value.errors] == [("/tool_calls", "too_large")]
    assert len(wire.PauseBody.from_text(json.dumps({"tool_calls": [CALL] * 20})).tool_calls) == 20


def test_faults_name_paths_deep_inside() -> None:
    body = {"tool_calls": [CALL, {"tool": "", "arguments": [], "extra/field": 1, "checks": [{"name": "n"}]}]}
    assert sorted(faults(wire.PauseBody, body)) == [
        ("/tool_calls/1/arguments", "invalid"),
        ("/tool_calls/1/checks/0/status", "missing"),
        ("/tool_calls/1/extra~1field", "unknown_field"),
        ("/tool_calls/1/tool", "invalid"),
    ]


def test_evidence_links_are_web_addresses() -> None:
    for bad in ["javascript:alert(1)", "file:///etc/passwd", "//x", "http://", "https:// x", "data:,x"]:
        assert faults(wire.Evidence, {"title": "t", "url": bad}) == [("/url", "invalid")]
    assert wire.Evidence(title="t", url="https://example.org/a?b#c")


# ---- checkpoints, outcomes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "fine"),
    [
        ({"id": ID}, True),
        ({"state": {}}, True),
        ({"state": {}, "parent": None, "node": "refund", "step": 9, "plan": {"version": 2, "step": 3}}, True),
        ({"parent": ID, "parent_hash": DIGEST, "changed": {"a": 1}, "unchanged": ["b"]}, True),
        ({"parent": ID, "parent_hash": DIGEST, "append": {"messages": [{"n": 1}]}}, True),
        ({}, False),
        ({"id": ID, "state": {}}, False),
        ({"state": {}, "changed": {}}, False),
        ({"changed": {}}, False),
        ({"changed": {}, "parent": ID}, False),
        ({"state": []}, False),
        ({"parent": ID, "parent_hash": DIGEST, "append": {"messages": {}}}, False),
    ],
)
def test_a_checkpoint_is_given_in_one_way(body: dict[str, Any], fine: bool) -> None:
    if fine:
        assert (
            wire.CheckpointIn.from_text(json.dumps(body)).to_text()
            == wire.CheckpointIn.from_tree(parse(json.dumps(body))).to_text()
        )
    else:
        assert faults(wire.CheckpointIn, body)


def test_an_outcome_fits_its_status() -> None:
    assert wire.OutcomeBody.from_text('{"status":"succeeded","result":null}').was_given("result")
    for bad in [
        {"status": "failed"},
        {"status": "failed", "error": ""},
        {"status": "failed", "error": "x", "result": 1},
        {"status": "succeeded", "error": "x"},
        {"status": "unknown", "result": 1},
        {"status": "ok"},
    ]:
        assert faults(wire.OutcomeBody, bad)


# ---- every message --------------------------------------------------------------------------------


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_every_message_refuses_unknown_fields(message: type[wire.Wire]) -> None:
    if message in (wire.Problem, wire.FaultOut):  # read by clients that may be older than the server
        return
    assert ("/no_such_field", "unknown_field") in faults(message, {"no_such_field": 1})


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_every_message_has_a_schema_and_a_docstring(message: type[wire.Wire]) -> None:
    schema = message.model_json_schema()  # of one that nests in itself the definitions hold it, too
    assert schema.get("$defs", {}).get(message.__name__, schema)["type"] == "object"
    assert message.__doc__


def test_the_schema_of_a_tool_is_called_schema() -> None:
    body = wire.ToolRegister.from_text('{"schema":{"type":"object"}}')
    assert body.parameters == {"type": "object"}
    assert body.to_text() == '{"schema":{"type":"object"}}'
    assert wire.ToolRegister(parameters={}).to_text() == '{"schema":{}}'
    assert faults(wire.ToolRegister, {"parameters": {}}) == [("/parameters", "unknown_field")]


def test_other_str_enums_are_their_text() -> None:
    class Choice(StrEnum):
        APPROVE = "approve"

    by = wire.By(kind=wire.ByKind.PERSON, name="Mina")
    made = wire.DecisionOut(type=Choice.APPROVE, by=by, decided_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert made.type is wire.DecisionType.APPROVE


def test_a_problem_keeps_what_belongs_to_its_code() -> None:
    found = wire.Problem.from_text('{"status":409,"code":"superseded","continue_from":{"branch":"b"}}')
    assert found.extra == {"continue_from": {"branch": "b"}}


# ---- words ----------------------------------------------------------------------------------------

PYTHON = re.compile(r"instance|dictionary|Input|str\b|bool\b|\bint\b|None|pydantic|tuple|datetime|Enum")


@pytest.mark.parametrize("model", MESSAGES, ids=lambda model: model.__name__)
def test_no_message_speaks_of_python(model: type[wire.Wire]) -> None:
    fields = [field.alias or name for name, field in model.model_fields.items()]
    wrong: list[Any] = [[], "x", 1, True, None, {}, [[]], {"a": []}, "", "x" * 5000, -1, [1], [{}]]
    trees = [*wrong, *(dict.fromkeys(fields, value) for value in wrong)]
    for tree in trees:
        try:
            model.from_tree(parse(json.dumps(tree)))
        except wire.BadBody as bad:
            for fault in bad.errors:
                assert not PYTHON.search(fault["message"]), (tree, fault)
                assert fault["message"][-1] in ".)", fault
