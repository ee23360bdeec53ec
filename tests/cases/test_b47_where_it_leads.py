"""B47: an address is looked at when it is asked, each time anew, also after a worker died while it asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.db import connection

from reviewhub.audit.models import Event
from reviewhub.core import clock
from reviewhub.gates.verify import due, verify
from reviewhub.toolcalls.models import ToolCall
from reviewhub.verdicts import address
from reviewhub.verdicts.ask import ask
from reviewhub.verdicts.models import Verdict
from reviewhub.verdicts.webhooks import read
from tests.cases import asking
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy

LETS_RUN = {"name": "Looks", "tool": "look", "action": "allow"}


class House:
    """A service of the house that nobody outside is to reach; it counts who did, and answers when it is let."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.answers = threading.Event()
        self.says = '{"passed":true}'
        house = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                house.keys.append(self.headers["Idempotency-Key"])
                house.answers.wait(30)
                with suppress(BrokenPipeError):  # who asked is dead
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(house.says.encode())

            do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.answers.set()
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "0177.0.0.1",
        "0",
        "localhost.",
        "LOCALHOST",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "\u2460\u2461\u2466.0.0.1",  # circled digits, which become plain ones when a name is looked for
        "127\u30020\u30020\u30021",  # ideographic full stops
        "[::ffff:169.254.169.254]",
        "[64:ff9b::7f00:1]",
        "example.com@127.0.0.1",
        "127.0.0.1\\@example.com",
        "127.0.0.1#@example.com",
    ],
)
def test_b47_no_spelling_of_the_house_is_asked(house: House, host: str) -> None:
    house.answers.set()
    said = ask(url=f"http://{host}:{house.port}/", body="{}", key="k", seconds=5, private=False)
    assert said.status == "error", said
    assert house.keys == []


Asked = tuple[Any, Verdict]


@pytest.fixture
def killed(transactional_db: None, cast: Cast, agent: AgentHttp, house: House, settings: Any) -> Asked:
    """A call that a webhook has to pass; the worker that asked it was killed while it waited for the answer."""
    hook = {"name": "Books", "of": "look", "gate": True, "private": True, "seconds": 20}
    hook["url"] = f"http://books.localhost:{house.port}/"
    settings.VERIFIERS = read(json.dumps([hook]))
    agent.put("/tools/look", {"effect": "read"}).ok(200, 201)
    policy(cast.support, LETS_RUN)
    (one,) = agent.pause(agent.run()["id"], call("look")).ok(201)["tool_calls"]
    assert one["state"] == "waiting"
    row = Verdict.objects.get()
    asking.killed(row.pk, hook, until=lambda: bool(house.keys))
    row.refresh_from_db()
    assert (row.status, row.attempts, len(house.keys)) == ("pending", 1, 1)
    assert due() == [] and not verify(verdict_id=row.pk), "until it counts as lost nobody else asks"
    Verdict.objects.update(next_at=clock.now() - timedelta(seconds=1))
    house.answers.set()
    return one, row


def now(agent: AgentHttp, one: Any) -> Any:
    return agent.get(f"/tool-calls/{one['id']}").ok()


def leads_to(monkeypatch: pytest.MonkeyPatch, *ips: str) -> None:
    def find(host: str, port: int, *args: Any, **more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ips]

    monkeypatch.setattr(address.socket, "getaddrinfo", find)


def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address.socket, "getaddrinfo", asking.here)


def test_b47_another_worker_asks_under_the_same_key_and_the_call_runs_once(
    agent: AgentHttp, house: House, killed: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    home(monkeypatch)
    one, row = killed
    assert verify(verdict_id=row.pk) and not verify(verdict_id=row.pk)
    assert house.keys == [str(row.pk)] * 2
    assert now(agent, one)["state"] == "allowed"
    assert Event.objects.filter(kind="verdict.given").count() == 1


@pytest.mark.parametrize("change", ["taken out", "another address", "not private", "renamed"])
def test_b47_what_the_settings_allow_no_more_is_not_asked_again(
    agent: AgentHttp, house: House, killed: Asked, settings: Any, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    home(monkeypatch)
    one, row = killed
    (hook,) = settings.VERIFIERS
    fields = {"not private": {"private": False}, "another address": {"url": "https://new.example/"}}
    other = hook.model_copy(update={"name": "Ledger"} if change == "renamed" else fields.get(change, {}))
    settings.VERIFIERS = () if change == "taken out" else (other,)
    verify(verdict_id=row.pk)
    row.refresh_from_db()
    assert (row.status, "not public" in row.detail, len(house.keys)) == ("error", True, 1)
    assert now(agent, one)["state"] == "waiting"


def test_b47_a_name_that_leads_inside_by_now_is_not_asked_again(
    agent: AgentHttp, house: House, killed: Asked, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public when it was asked first; the second worker looks for itself."""
    one, row = killed
    settings.VERIFIERS = tuple(hook.model_copy(update={"private": False}) for hook in settings.VERIFIERS)
    leads_to(monkeypatch, "93.184.216.34", "127.0.0.1")
    verify(verdict_id=row.pk)
    row.refresh_from_db()
    assert (row.status, len(house.keys)) == ("error", 1)
    assert now(agent, one)["state"] == "waiting"


@pytest.mark.parametrize(("answer", "state"), [("approve", "allowed"), ("reject", "denied")])
@pytest.mark.parametrize("passed", [True, False])
def test_b47_what_a_person_said_meanwhile_stands(
    agent: AgentHttp,
    reviewer: PersonHttp,
    house: House,
    killed: Asked,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    state: str,
    passed: bool,
) -> None:
    home(monkeypatch)
    one, row = killed
    reviewer.decide(one, answer, **({"message": "no"} if answer == "reject" else {})).ok(200)
    house.says = json.dumps({"passed": passed})
    assert verify(verdict_id=row.pk)
    assert now(agent, one)["state"] == state
    row.refresh_from_db()
    assert row.status == ("passed" if passed else "failed")


def test_b47_a_policy_that_is_stricter_by_now_holds_what_passed(
    cast: Cast, agent: AgentHttp, house: House, killed: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    home(monkeypatch)
    one, row = killed
    policy(cast.support, {**LETS_RUN, "action": "require"})
    assert verify(verdict_id=row.pk)
    assert now(agent, one)["state"] == "waiting"


def test_b47_two_workers_that_ask_at_once_write_one_verdict(
    agent: AgentHttp, house: House, killed: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one lives after all, and is slow: it answers when the second one has."""
    home(monkeypatch)
    one, row = killed
    house.answers.clear()
    first = threading.Thread(target=_verify, args=(row.pk,))
    first.start()
    end = time.monotonic() + 20
    while len(house.keys) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    Verdict.objects.update(next_at=clock.now() - timedelta(seconds=1))
    second = threading.Thread(target=_verify, args=(row.pk,))
    second.start()
    while len(house.keys) < 3 and time.monotonic() < end:
        time.sleep(0.02)
    house.answers.set()
    first.join()
    second.join()
    assert len(house.keys) == 3
    assert Event.objects.filter(kind="verdict.given").count() == 1
    assert ToolCall.objects.get().state == "allowed"


def test_b47_workers_that_die_at_it_again_and_again_are_its_verdict(
    agent: AgentHttp, house: House, killed: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    home(monkeypatch)
    one, row = killed
    Verdict.objects.update(attempts=3)
    assert verify(verdict_id=row.pk)
    row.refresh_from_db()
    assert (row.status, len(house.keys)) == ("error", 1)
    assert now(agent, one)["state"] == "waiting"


def _verify(verdict_id: Any) -> None:
    try:
        verify(verdict_id=verdict_id)
    finally:
        connection.close()
