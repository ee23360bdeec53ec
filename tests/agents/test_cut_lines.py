"""A real line, cut in the ways that lines are cut after the hub did what it was asked for: the client asks again."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from reviewhub_agents import exchange, wire
from reviewhub_agents.client import Client

from .fake import KEY, FakeHub
from .test_client import CALL

CUTS = ("nothing", "reset", "half a head", "half a body")


class Line(ThreadingHTTPServer):
    """A hub behind a line; `cuts` are how the next answers are cut."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = FakeHub()
        self.cuts: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Line

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = httpx.Request(
            self.command, f"http://hub.test{self.path}", headers=dict(self.headers), content=content
        )
        response = self.server.hub.transport().handle_request(request)
        response.read()
        kind = response.headers["content-type"]
        head = f"HTTP/1.1 {response.status_code} OK\r\ncontent-type: {kind}\r\n"
        whole = f"{head}content-length: {len(response.content)}\r\n\r\n".encode() + response.content
        how = self.server.cuts.pop(0) if self.server.cuts else ""
        size = {"nothing": 0, "reset": 0, "half a head": 20, "half a body": len(whole) - 5}.get(
            how, len(whole)
        )
        self.wfile.write(whole[:size])
        if how:
            self.wfile.flush()
            self.close_connection = True
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    do_GET = do_POST = do_PUT = _answer

    def log_message(self, *args: object) -> None:
        """Nothing to the console."""


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    monkeypatch.setattr(exchange, "FIRST_DELAY", 0.002)
    with Line() as made:
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield made
        made.shutdown()


@pytest.mark.parametrize("how", CUTS)
def test_what_the_hub_did_is_done_once(line: Line, how: str) -> None:
    with Client(f"http://127.0.0.1:{line.server_port}", key=KEY, patience=20) as client:
        run = client.start_run(wire.RunStart())
        line.cuts = [how, how]
        pause = client.wait(client.pause(run.id, wire.PauseBody(tool_calls=[CALL])).id)
        (call,) = pause.tool_calls
        line.cuts = [how, how]
        assert client.consume(call.id, wire.ConsumeBody(digest=call.digest)).attempt == 1
        line.cuts = [how, how]
        done = client.outcome(call.id, wire.OutcomeBody(status=wire.OutcomeStatus.SUCCEEDED, result=None))
        assert done.state is wire.CallState.SUCCEEDED
    assert not line.cuts
    assert len(line.hub.pauses) == 1
    for path in ("/pauses", "/consume", "/outcome"):
        sent = line.hub.sent("POST", path)
        assert len(sent) == 3 and len({one.headers["idempotency-key"] for one in sent}) == 1, path
