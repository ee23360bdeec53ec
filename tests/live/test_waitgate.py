"""Long polling: when the view is asked again, and what the client sees of it."""

from __future__ import annotations

import asyncio
import time
from uuid import UUID

import pytest

from reviewhub.live.asgi_types import Receive, Scope, Send
from reviewhub.live.hub import Hint, Hub
from reviewhub.live.waitgate import WaitGate
from tests.live.asgi import Connection, ask, http_scope

PAUSE = UUID("01890000-0000-7000-8000-000000000001")
TOPIC = f"pause:{PAUSE}"
HINT = Hint(event_id=1, kind="review.decided", pause_id=PAUSE)


class View:
    """Answers `waiting` with the header until `final` is set."""

    def __init__(self) -> None:
        self.final = False
        self.asked = 0
        self.on_ask = lambda: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        final = self.final
        self.on_ask()
        headers = [] if final else [(b"ReviewHub-Wait", TOPIC.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"final" if final else b"waiting"})


@pytest.fixture
def hub() -> Hub:
    return Hub()


@pytest.fixture
def view() -> View:
    return View()


@pytest.fixture
def gate(view: View, hub: Hub) -> WaitGate:
    return WaitGate(view, hub=hub, most_seconds=60)


async def until_waiting(hub: Hub) -> None:
    async with asyncio.timeout(5):
        while not hub.waiting():
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.02)


async def test_without_wait_the_answer_comes_at_once_and_without_the_header(
    gate: WaitGate, view: View
) -> None:
    answer = await ask(gate, http_scope())
    assert (answer.body, answer.headers, view.asked) == (b"waiting", {}, 1)


async def test_a_final_answer_does_not_wait(gate: WaitGate, view: View) -> None:
    view.final = True
    answer = await ask(gate, http_scope(query="wait=30"))
    assert (answer.body, view.asked) == (b"final", 1)


async def test_a_hint_ends_the_wait(gate: WaitGate, view: View, hub: Hub) -> None:
    started = time.monotonic()
    asking = asyncio.create_task(ask(gate, http_scope(query="wait=30")))
    await until_waiting(hub)
    view.final = True
    hub.publish([HINT])
    answer = await asking
    assert (answer.body, answer.ended) == (b"final", True)
    assert time.monotonic() - started < 5
    assert hub.waiting() == 0


async def test_a_change_between_answer_and_subscription_is_seen(gate: WaitGate, view: View) -> None:
    def decide_meanwhile() -> None:
        view.final = True

    view.on_ask = decide_meanwhile  # right after the first answer was made, with no hint for anybody
    answer = await asyncio.wait_for(ask(gate, http_scope(query="wait=30")), 5)
    assert (answer.body, view.asked) == (b"final", 2)


async def test_a_hint_that_changes_nothing_goes_on_waiting(gate: WaitGate, view: View, hub: Hub) -> None:
    asking = asyncio.create_task(ask(gate, http_scope(query="wait=1")))
    await until_waiting(hub)
    hub.publish([HINT])
    await asyncio.sleep(0.1)
    assert not asking.done()
    answer = await asking
    assert (answer.body, view.asked) == (
        b"waiting",
        4,
    )  # first, after subscribing, after the hint, at the end


async def test_other_topics_wake_nobody(gate: WaitGate, view: View, hub: Hub) -> None:
    asking = asyncio.create_task(ask(gate, http_scope(query="wait=1")))
    await until_waiting(hub)
    hub.publish([Hint(event_id=2, kind="x", pause_id=UUID(int=5))])
    await asking
    assert view.asked == 3


async def test_the_end_of_the_process_ends_the_wait(gate: WaitGate, hub: Hub) -> None:
    asking = asyncio.create_task(ask(gate, http_scope(query="wait=60")))
    await until_waiting(hub)
    hub.close()
    assert (await asyncio.wait_for(asking, 5)).body == b"waiting"
    assert (await asyncio.wait_for(ask(gate, http_scope(query="wait=60")), 5)).body == b"waiting"


async def test_a_client_that_hangs_up_is_no_longer_waited_for(gate: WaitGate, hub: Hub) -> None:
    connection = Connection([])
    asking = asyncio.create_task(ask(gate, http_scope(query="wait=60"), connection))
    await until_waiting(hub)
    connection.hung_up.set()
    await asyncio.wait_for(asking, 5)
    assert hub.waiting() == 0


@pytest.mark.parametrize("wait", ["61", "-1", "abc", "", "1.5", "%D9%A3"])
async def test_a_wait_out_of_bounds_is_422_and_names_the_limit(gate: WaitGate, wait: str) -> None:
    answer = await ask(gate, http_scope(query=f"wait={wait}"))
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "wait")
    assert "60" in answer.json["detail"]


async def test_wait_zero_answers_at_once(gate: WaitGate, view: View) -> None:
    assert (await ask(gate, http_scope(query="wait=0"))).body == b"waiting"


async def test_a_post_never_waits(gate: WaitGate, view: View) -> None:
    await ask(gate, http_scope("POST", query="wait=30"))
    assert view.asked == 1
