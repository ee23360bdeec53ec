"""The clients: repeats with one key, typed errors, long polls, nothing followed; sync and async alike."""

import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from reviewhub_agents import errors, exchange, routes, wire
from reviewhub_agents.canonical import Number
from reviewhub_agents.client import AsyncClient, Client

from .fake import KEY, FakeHub, Refused

ROUTES: dict[str, Callable[..., routes.Call[Any]]] = {
    name: value
    for name, value in vars(routes).items()
    if inspect.isfunction(value) and value.__module__ == routes.__name__ and not name.startswith("_")
}
CALL = wire.ToolCallIn(tool="payments.refund", arguments={"amount": Number("0.10")}, call_id="c1")


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_DELAY", 0.002)


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture
def client(hub: FakeHub) -> Iterator[Client]:
    with Client("http://hub.test", key=KEY, patience=1, transport=hub.transport()) as client:
        yield client


@pytest.fixture
async def aclient(hub: FakeHub) -> AsyncIterator[AsyncClient]:
    async with AsyncClient("http://hub.test", key=KEY, patience=1, transport=hub.transport()) as client:
        yield client


def answer(status: int, body: str = "{}", **headers: str) -> httpx.Response:
    return httpx.Response(status, text=body, headers={"content-type": "application/json", **headers})


def paused(client: Client) -> wire.PauseOut:
    return client.pause(client.start_run(wire.RunStart()).id, wire.PauseBody(tool_calls=[CALL]))


def test_the_whole_way(client: Client, hub: FakeHub) -> None:
    pause = client.wait(paused(client).id)
    call = pause.tool_calls[0]
    assert call.grant is not None
    granted = client.consume(call.id, wire.ConsumeBody(digest=call.grant.digest))
    assert granted.arguments == {"amount": Number("0.10")}
    assert granted.arguments_text == '{"amount":0.10}'
    done = client.outcome(
        call.id, wire.OutcomeBody(status=wire.OutcomeStatus.SUCCEEDED, result=Number("1E2"))
    )
    assert done.state is wire.CallState.SUCCEEDED
    assert client.get_pause(pause.id).tool_calls[0].result == Number("1E2")
    assert {request.headers["authorization"] for request in hub.requests} == {f"Bearer {KEY}"}


async def test_the_whole_way_awaited(aclient: AsyncClient) -> None:
    run = await aclient.start_run(wire.RunStart())
    pause = await aclient.wait((await aclient.pause(run.id, wire.PauseBody(tool_calls=[CALL]))).id)
    granted = await aclient.consume(
        pause.tool_calls[0].id, wire.ConsumeBody(digest=pause.tool_calls[0].digest)
    )
    assert granted.attempt == 1


@pytest.mark.parametrize("how", ["lost before", "lost after"])
def test_a_lost_pause_is_sent_again_with_its_key_and_made_once(
    client: Client, hub: FakeHub, how: str
) -> None:
    hub.die_once("POST", "/pauses", how, times=3)
    paused(client)
    sent = hub.sent("POST", "/pauses")
    assert len(sent) == 4
    assert len({request.headers["idempotency-key"] for request in sent}) == 1
    assert len(hub.pauses) == 1


@pytest.mark.parametrize("how", ["lost before", "lost after"])
def test_a_lost_consume_is_the_same_attempt(client: Client, hub: FakeHub, how: str) -> None:
    call = client.wait(paused(client).id).tool_calls[0]
    hub.die_once("POST", "/consume", how, times=2)
    assert client.consume(call.id, wire.ConsumeBody(digest=call.digest)).attempt == 1
    with pytest.raises(errors.AlreadyConsumed):
        client.consume(call.id, wire.ConsumeBody(digest=call.digest))
    keys = [request.headers["idempotency-key"] for request in hub.sent("POST", "/consume")]
    assert len(keys) == 4
    assert len(set(keys)) == 2


def test_the_consume_key_cannot_be_given_nor_seen() -> None:
    assert "key" not in inspect.signature(routes.consume).parameters
    call = routes.consume(uuid4(), wire.ConsumeBody(digest="sha256:" + "0" * 64))
    assert call.key is not None
    assert call.key not in repr(call)


def test_the_agents_key_is_in_no_repr(client: Client) -> None:
    assert KEY not in repr(client)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again(client: Client, hub: FakeHub, status: int) -> None:
    hub.die_once("POST", "/runs", answer(status, "<html>", **{"content-type": "text/html"}), times=2)
    client.start_run(wire.RunStart())
    assert len(hub.sent("POST", "/runs")) == 3


def test_retry_after_is_honoured_but_not_beyond_patience(client: Client, hub: FakeHub) -> None:
    hub.die_once("POST", "/runs", answer(503, **{"retry-after": "1"}))
    started = time.monotonic()
    client.patience = 5
    client.start_run(wire.RunStart())
    assert 0.7 < time.monotonic() - started < 3


def test_patience_ends(client: Client, hub: FakeHub) -> None:
    client.patience = 0.05
    hub.die_once("POST", "/runs", "lost before", times=10**6)
    with pytest.raises(errors.Unreachable, match="ConnectError"):
        client.start_run(wire.RunStart())
    hub.faults.clear()
    problem = '{"status":503,"code":"try_again"}'
    hub.die_once("POST", "/runs", answer(503, problem, **{"retry-after": "3600"}), times=10**6)
    started = time.monotonic()
    with pytest.raises(errors.TryAgain):
        client.start_run(wire.RunStart())
    assert time.monotonic() - started < 1


def test_other_errors_are_not_repeated(client: Client, hub: FakeHub) -> None:
    for status, body, error in [
        (500, '{"status":500,"code":"error","detail":"Broken."}', errors.ApiError),
        (401, '{"status":401,"code":"unauthenticated"}', errors.Unauthenticated),
        (409, '{"status":409,"code":"something_new"}', errors.Conflict),
    ]:
        hub.faults.clear()
        hub.requests.clear()
        hub.die_once("POST", "/runs", answer(status, body))
        with pytest.raises(error):
            client.start_run(wire.RunStart())
        assert len(hub.requests) == 1


@pytest.mark.parametrize("code", sorted(errors.ApiError.by_code))
def test_every_code_has_its_error(client: Client, hub: FakeHub, code: str) -> None:
    client.patience = 0
    hub.overrides["post_runs"] = [Refused(409, code)]
    with pytest.raises(errors.ApiError) as caught:
        client.start_run(wire.RunStart())
    assert type(caught.value).code == code
    assert type(caught.value).__doc__
    assert f"No: {code}." in str(caught.value)


def test_bad_input_names_paths(client: Client, hub: FakeHub) -> None:
    errors_ = [{"path": "/title", "code": "too_large", "message": "Too long."}]
    hub.overrides["post_runs"] = [Refused(422, "invalid", {"errors": errors_})]
    with pytest.raises(errors.Invalid, match="/title: Too long") as caught:
        client.start_run(wire.RunStart())
    assert caught.value.errors == errors_


def test_superseded_says_where_to_go_on(client: Client, hub: FakeHub) -> None:
    there = {"branch": "main~2", "checkpoint": str(uuid4()), "news": 1}
    hub.overrides["post_runs"] = [
        Refused(409, "superseded", {"continue_from": there}),
        Refused(409, "superseded"),
    ]
    with pytest.raises(errors.Superseded) as caught:
        client.start_run(wire.RunStart())
    assert caught.value.continue_from is not None
    assert caught.value.continue_from.branch == "main~2"
    with pytest.raises(errors.Superseded) as caught:
        client.start_run(wire.RunStart())
    assert caught.value.continue_from is None


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, text="<html>hello", headers={"content-type": "text/html"}),
        httpx.Response(302, headers={"location": "https://elsewhere.test/"}),
        answer(200, "{"),
        answer(200, "[]"),
        answer(200, '{"id":1}'),
        answer(404, '{"detail":"?"}'),
        httpx.Response(204),
    ],
)
def test_what_is_no_answer_of_reviewhubs_is_said(
    client: Client, hub: FakeHub, response: httpx.Response
) -> None:
    hub.die_once("POST", "/runs", response, times=10)
    with pytest.raises(errors.UnexpectedAnswer):
        client.start_run(wire.RunStart())
    assert len(hub.requests) == 1
    assert hub.requests[0].url.host == "hub.test"


def test_a_newer_servers_fields_are_ignored(client: Client, hub: FakeHub) -> None:
    text = client.start_run(wire.RunStart()).to_text()
    newer = '{"brand_new":{"a":1},' + text[1:].replace('"branches":[{', '"branches":[{"also_new":1,')
    hub.die_once("POST", "/runs", answer(200, newer))
    assert client.start_run(wire.RunStart()).branches[0].name == "main"


def test_wait_polls_until_settled_and_not_too_fast(client: Client, hub: FakeHub) -> None:
    answers: Iterator[str | None] = iter([None] * 4 + ["reject"])
    hub.decide = lambda call: next(answers)
    pause = client.wait(paused(client).id)
    assert pause.tool_calls[0].state is wire.CallState.DENIED
    polls = hub.sent("GET", str(pause.id))
    assert [poll.url.params["wait"] for poll in polls] == ["30"] * 5


def test_wait_gives_up_in_time_and_keeps_the_pause(client: Client, hub: FakeHub) -> None:
    hub.decide = lambda call: None
    with pytest.raises(errors.StillWaiting) as caught:
        client.wait(paused(client).id, timeout=0.05)
    assert caught.value.pause.state is wire.PauseState.WAITING
    assert len(hub.requests) < 40


def test_a_long_poll_has_time_to_answer() -> None:
    seen: list[Any] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return answer(404, '{"status":404,"code":"not_found"}')

    with Client("http://hub.test/base/", key=KEY, transport=httpx.MockTransport(handle)) as client:
        for call in [lambda: client.get_pause(uuid4(), wait=60), lambda: client.get_pause(uuid4())]:
            with pytest.raises(errors.NotFound):
                call()
    assert [limits["read"] for limits in seen] == [90, 30]
    assert all(limits["connect"] == 10 for limits in seen)
    with pytest.raises(ValueError, match="61 seconds"):
        routes.get_pause(uuid4(), wait=61)


def test_names_cannot_leave_their_place_in_the_path() -> None:
    call = routes.register_tool("../../runs?x=#", wire.ToolRegister())
    assert call.path == "/tools/..%2F..%2Fruns%3Fx%3D%23"


@pytest.mark.parametrize("url", ["", "hub.test", "file:///x", "ftp://hub.test", "http://"])
def test_the_address_is_checked(url: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        Client(url, key=KEY)


def test_both_clients_have_every_route() -> None:
    described = set(ROUTES)
    for kind in (Client, AsyncClient):
        missing = {name for name in described if not hasattr(kind, name)}
        assert missing == set()
        assert all(getattr(kind, name).__doc__ for name in described)


def test_every_post_carries_a_key() -> None:
    for name, describe in ROUTES.items():
        arguments = [
            uuid4() if parameter.annotation == "UUID" else None
            for parameter in inspect.signature(describe).parameters.values()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        call = describe(*arguments)
        assert (call.method == "POST") == (call.key is not None), name
