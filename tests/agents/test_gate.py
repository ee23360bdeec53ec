"""The gate: a function runs only as approved, with what was approved, once, and its outcome is recorded."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

import pytest
from reviewhub_agents import errors, exchange, gate, wire
from reviewhub_agents.canonical import BadJson, Number
from reviewhub_agents.client import AsyncClient, Client

from .fake import KEY, FakeHub, Refused


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_DELAY", 0.002)


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture
def client(hub: FakeHub) -> Iterator[Client]:
    with Client("http://hub.test", key=KEY, patience=0.2, transport=hub.transport()) as client:
        yield client


@pytest.fixture
async def aclient(hub: FakeHub) -> AsyncIterator[AsyncClient]:
    async with AsyncClient("http://hub.test", key=KEY, patience=0.2, transport=hub.transport()) as client:
        yield client


class Shop:
    """A tool with a counter."""

    def __init__(self, client: Client, **options: Any) -> None:
        self.ran: list[tuple[Any, ...]] = []
        self.raises: BaseException | None = None
        self.result: Any = "refunded"

        @gate.requires_review(client=client, tool="payments.refund", **options)
        def refund(order: str, amount: Decimal, *, note: str = "", **rest: Any) -> Any:
            """Refund."""
            self.ran.append((order, amount, note, rest))
            self.key = gate.granted().tool_idempotency_key
            if self.raises is not None:
                raise self.raises
            return self.result

        self.refund = refund


def only(hub: FakeHub) -> Any:
    (call,) = hub.calls.values()
    return call


def run_state(hub: FakeHub) -> Any:
    (run,) = hub.runs.values()
    return run["state"]


def test_approved_runs_once_with_the_very_values(client: Client, hub: FakeHub) -> None:
    shop = Shop(client, reason=lambda arguments: f"for {arguments['order']}")
    assert shop.refund("8812", Decimal("0.10"), extra=[1.5]) == "refunded"
    assert shop.ran == [("8812", Decimal("0.10"), "", {"extra": [1.5]})]
    assert only(hub).text == '{"amount":0.10,"extra":[1.5],"note":"","order":"8812"}'
    assert (only(hub).state, only(hub).result, run_state(hub)) == ("succeeded", "refunded", "succeeded")
    assert shop.key == f"rh-{only(hub).id}"
    assert b'"reason":"for 8812"' in hub.sent("POST", "/pauses")[0].content
    assert shop.refund.__doc__ == "Refund."


def test_edited_runs_with_the_edited_values(client: Client, hub: FakeHub) -> None:
    edited = {
        "order": "8812",
        "amount": Number("9.90"),
        "note": "limit",
        "n": Number("12345678901234567890123"),
    }
    hub.decide = lambda call: {"type": "edit", "arguments": edited}
    shop = Shop(client)
    shop.refund("8812", Decimal("100"))
    assert shop.ran == [("8812", Decimal("9.90"), "limit", {"n": 12345678901234567890123})]
    assert type(shop.ran[0][1]) is Decimal


@pytest.mark.parametrize("decision", ["reject", "deny", "expire", "withdraw", "cancel", "skip"])
def test_whatever_is_not_allowed_does_not_run(client: Client, hub: FakeHub, decision: str) -> None:
    hub.decide = lambda call: decision
    shop = Shop(client)
    with pytest.raises(gate.Denied, match=f"A reviewer decided: {decision}") as caught:
        shop.refund("8812", Decimal(1))
    assert caught.value.decision is not None
    assert caught.value.decision.type == decision
    assert shop.ran == []
    assert hub.sent("POST", "/consume") == []
    assert run_state(hub) == "succeeded"


@pytest.mark.parametrize("value", [False, 0, "", None, {}])
def test_an_answer_comes_back_as_it_is(client: Client, hub: FakeHub, value: Any) -> None:
    hub.decide = lambda call: {"type": "respond", "value": value}
    shop = Shop(client)
    with pytest.raises(gate.Answered) as caught:
        shop.refund("8812", Decimal(1))
    expected = Number("0") if value == 0 and value is not False else value
    assert caught.value.value == expected
    assert Shop(client, on_denied="return").refund("8812", Decimal(1)) == expected
    assert shop.ran == []


def test_on_denied_return_gives_the_text_for_the_model(client: Client, hub: FakeHub) -> None:
    hub.decide = lambda call: "reject"
    shop = Shop(client, on_denied="return")
    assert shop.refund("8812", Decimal(1)) == "A reviewer decided: reject."
    assert shop.ran == []


def test_an_exception_is_a_failed_outcome_and_goes_on(client: Client, hub: FakeHub) -> None:
    shop = Shop(client)
    shop.raises = ValueError("card \0 expired \ud83c")
    with pytest.raises(ValueError, match="card"):
        shop.refund("8812", Decimal(1))
    assert (only(hub).state, len(shop.ran)) == ("failed", 1)
    body = json.loads(hub.sent("POST", "/outcome")[0].content)
    assert body["error"] == "ValueError: card \\x00 expired \\ud83c"


def test_where_it_waits_is_logged_once(
    client: Client, hub: FakeHub, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter([None, None, "approve"])
    hub.decide = lambda call: next(answers)
    with caplog.at_level("INFO", logger="reviewhub_agents"):
        Shop(client).refund("8812", Decimal(1))
    said = [record.getMessage() for record in caplog.records if record.name.startswith("reviewhub_agents")]
    assert said == [f"{only(hub).tool} waits for people: http://hub.test/requests/1"]


def test_an_interrupt_leaves_the_outcome_unknown(client: Client, hub: FakeHub) -> None:
    shop = Shop(client)
    shop.raises = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        shop.refund("8812", Decimal(1))
    assert (only(hub).state, run_state(hub)) == ("unknown", "running")


def test_an_exception_wins_over_a_server_that_is_gone(client: Client, hub: FakeHub) -> None:
    shop = Shop(client)
    shop.raises = ValueError("broken")
    hub.die_once("POST", "/outcome", "lost before", times=10**6)
    with pytest.raises(ValueError, match="broken") as caught:
        shop.refund("8812", Decimal(1))
    assert "could not be told" in caught.value.__notes__[0]


def test_a_result_is_not_lost_with_the_server(client: Client, hub: FakeHub) -> None:
    shop = Shop(client)
    hub.die_once("POST", "/outcome", "lost before", times=10**6)
    with pytest.raises(errors.OutcomeNotRecorded) as caught:
        shop.refund("8812", Decimal(1))
    assert caught.value.result == "refunded"
    assert len(shop.ran) == 1


@pytest.mark.parametrize("how", ["lost before", "lost after"])
@pytest.mark.parametrize("route", ["/runs", "/pauses", "/consume", "/outcome", "/finish"])
def test_a_lost_connection_anywhere_runs_it_once(client: Client, hub: FakeHub, route: str, how: str) -> None:
    hub.die_once("POST", route, how, times=2)
    shop = Shop(client)
    assert shop.refund("8812", Decimal(1)) == "refunded"
    assert len(shop.ran) == 1
    assert len(only(hub).attempts) == 1


def test_a_consume_without_an_answer_runs_nothing(client: Client, hub: FakeHub) -> None:
    hub.die_once("POST", "/consume", "lost after", times=10**6)
    shop = Shop(client)
    with pytest.raises(errors.Unreachable):
        shop.refund("8812", Decimal(1))
    assert shop.ran == []
    assert only(hub).state == "started"


@pytest.mark.parametrize("code", ["already_consumed", "digest_mismatch", "superseded", "not_allowed"])
def test_a_refused_consume_runs_nothing(client: Client, hub: FakeHub, code: str) -> None:
    hub.overrides["post_tool_calls_consume"] = [Refused(409, code)] * 9
    shop = Shop(client)
    with pytest.raises(errors.ApiError.by_code[code]):
        shop.refund("8812", Decimal(1))
    assert shop.ran == []


def test_changed_facts_are_asked_again(client: Client, hub: FakeHub) -> None:
    versions = iter([7, 8, 8, 8])
    shop = Shop(client, facts=lambda arguments: {"order.version": next(versions)})
    answers = iter(["approve", "reject"])
    hub.decide = lambda call: next(answers)
    with pytest.raises(gate.Denied):
        shop.refund("8812", Decimal(1))
    assert shop.ran == []


def test_swapped_arguments_do_not_run(client: Client, hub: FakeHub) -> None:
    shop = Shop(client)
    consume = hub.post_tool_calls_consume

    def swapped(call_id: str, body: Any) -> wire.ConsumeOut:
        out = consume(call_id, body)
        text = out.arguments_text.replace("8812", "8813")
        return wire.ConsumeOut.from_text(
            out.to_text().replace("8812", "8813").replace(out.arguments_text, text)
        )

    hub.post_tool_calls_consume = swapped  # type: ignore[method-assign]
    with pytest.raises(errors.UnexpectedAnswer, match="not those that were decided"):
        shop.refund("8812", Decimal(1))
    assert shop.ran == []
    assert only(hub).state == "failed"


def test_a_list_changed_while_people_look_runs_as_it_was(client: Client, hub: FakeHub) -> None:
    lines = [Decimal("1.50")]

    def decide(call: Any) -> str:
        lines.append(Decimal(3))
        return "approve"

    hub.decide = decide
    shop = Shop(client)
    shop.refund("8812", Decimal(1), lines=lines)
    assert repr(shop.ran[0][3]) == "{'lines': [Decimal('1.50')]}"


@pytest.mark.parametrize("value", [(1,), {1}, b"x", object(), float("nan"), "\0"])
def test_b19_what_is_no_json_is_refused_before_anybody_is_asked(
    client: Client, hub: FakeHub, value: Any
) -> None:
    with pytest.raises(BadJson, match="/extra"):
        Shop(client).refund("8812", Decimal(1), extra=value)
    assert hub.requests == []


def test_a_result_that_is_no_json_is_said_to_be_missing(client: Client, hub: FakeHub) -> None:
    shop = Shop(client)
    shop.result = object()
    assert shop.refund("8812", Decimal(1)) is shop.result
    assert only(hub).state == "succeeded"
    assert "object" in json.loads(hub.sent("POST", "/outcome")[0].content)["partial"]["result_not_recorded"]


def test_a_result_the_server_refuses_does_not_make_it_unknown(client: Client, hub: FakeHub) -> None:
    hub.overrides["post_tool_calls_outcome"] = [Refused(413, "too_large")]
    assert Shop(client).refund("8812", Decimal(1)) == "refunded"
    assert only(hub).state == "succeeded"


def test_a_timeout_asks_the_call_back(client: Client, hub: FakeHub) -> None:
    hub.decide = lambda call: None

    def withdraw(call_id: str, body: Any) -> wire.ToolCallOut:
        hub._decide(only(hub), "withdraw")
        return hub._call(only(hub))

    hub.post_tool_calls_withdraw = withdraw  # type: ignore[attr-defined]
    with pytest.raises(errors.StillWaiting):
        Shop(client, timeout=0.02).refund("8812", Decimal(1))
    assert (only(hub).state, run_state(hub)) == ("skipped", "succeeded")


def test_a_refused_pause_leaves_no_run_open(client: Client, hub: FakeHub) -> None:
    hub.overrides["post_runs_pauses"] = [Refused(422, "invalid")]
    with pytest.raises(errors.Invalid):
        Shop(client).refund("8812", Decimal(1))
    assert run_state(hub) == "succeeded"


def test_a_stopped_agent_leaves_its_run_as_the_stop_left_it(client: Client, hub: FakeHub) -> None:
    problem = errors.AgentStopped.__new__(errors.AgentStopped)
    asked = len(hub.requests)
    with pytest.raises(errors.AgentStopped) as seen, gate.review_run(client):
        raise problem
    assert seen.value.__context__ is None
    assert len(hub.requests) == asked + 1, "the run was started, and nothing was sent afterwards"


def test_calls_of_a_block_share_a_run(client: Client, hub: FakeHub) -> None:
    shop = Shop(client)
    with gate.review_run(client, title="Refunds", external_id="r1") as run:
        shop.refund("1", Decimal(1))
        shop.refund("2", Decimal(2))
    assert {call.run for call in hub.calls.values()} == {run.id}
    assert run_state(hub) == "succeeded"
    with pytest.raises(ZeroDivisionError), gate.review_run(client):
        raise ZeroDivisionError
    assert sorted(item["state"] for item in hub.runs.values()) == ["failed", "succeeded"]


def test_arguments_without_a_name_are_refused_when_decorating(client: Client) -> None:
    decorate = gate.requires_review(client=client, tool="t")
    with pytest.raises(TypeError, match="no name"):
        decorate(lambda *args: None)
    with pytest.raises(TypeError, match="no name"):
        decorate(lambda a, /: None)
    with pytest.raises(TypeError, match="missing"):
        decorate(lambda a: None)()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="twice"):
        gate.requires_review(client=client, tool="t", effect="twice")  # type: ignore[arg-type]
    with pytest.raises(LookupError):
        gate.granted()


# ---- async ----------------------------------------------------------------------------------------


async def test_async_functions_are_gated_alike(aclient: AsyncClient, hub: FakeHub) -> None:
    ran: list[Any] = []

    @gate.requires_review(client=aclient, tool="mail.send", effect="once")
    async def send(to: str) -> str:
        ran.append((to, gate.granted().attempt))
        return "sent"

    assert await send("a@b.test") == "sent"
    hub.decide = lambda call: "reject"
    with pytest.raises(gate.Denied):
        await send("c@d.test")
    hub.decide = lambda call: "approve"
    async with gate.review_run(aclient):
        await send(to="e@f.test")
    assert ran == [("a@b.test", 1), ("e@f.test", 1)]


async def test_a_cancelled_task_leaves_the_outcome_unknown(aclient: AsyncClient, hub: FakeHub) -> None:
    started = asyncio.Event()

    @gate.requires_review(client=aclient, tool="slow")
    async def slow() -> None:
        started.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(slow())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert only(hub).state == "unknown"


async def test_the_client_must_fit_the_function(client: Client, aclient: AsyncClient) -> None:
    async def later() -> None: ...

    with pytest.raises(TypeError, match="AsyncClient"):
        gate.requires_review(client=client, tool="t")(later)
    with pytest.raises(TypeError, match="needs a Client"):
        gate.requires_review(client=aclient, tool="t")(lambda: None)
    with pytest.raises(TypeError, match="async with"), gate.review_run(aclient):
        pass
