"""What a webhook may be, where it may lead, and what counts as its verdict."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from reviewhub.verdicts import address
from reviewhub.verdicts.address import Refused, address_fault, is_public, look_up
from reviewhub.verdicts.ask import ask
from reviewhub.verdicts.webhooks import about, read

HOOK = {"name": "Books", "of": "claims.*", "url": "https://books.example/judge"}


@pytest.mark.parametrize(
    ("ip", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104  nobody listens there
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("::ffff:93.184.216.34", False),
        ("::127.0.0.1", False),
        ("::ffff:0:127.0.0.1", False),
        ("64:ff9b::5db8:d822", False),
        ("64:ff9b:1::5db8:d822", False),
        ("fec0::1", False),
        ("192.88.99.1", False),
        ("192.0.0.9", False),
    ],
)
def test_what_is_public(ip: str, public: bool) -> None:
    assert is_public(ip) is public


@pytest.mark.parametrize(
    "url",
    [
        "",
        "books",
        "ftp://x/",
        "file:///etc/passwd",
        "http://",
        "http://u:p@x/",
        "http://x:0/",
        "http://x/ y",
        "http://x:9e9/",
    ],
)
def test_what_is_no_address(url: str) -> None:
    assert address_fault(url)


def test_a_name_that_leads_inside_is_refused_also_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(2, 1, 6, "", (ip, 443)) for ip in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(address.socket, "getaddrinfo", lambda *args, **more: found)
    with pytest.raises(Refused, match="not public"):
        look_up("https://books.example/", private=False, seconds=5)
    assert look_up("https://books.example/", private=True, seconds=5).ip == "93.184.216.34"


def test_a_name_that_nobody_answers_for_is_under_the_same_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    open_again = threading.Event()

    def hangs(*args: Any, **more: Any) -> list[Any]:
        open_again.wait(5)
        raise OSError

    monkeypatch.setattr(address.socket, "getaddrinfo", hangs)
    began = time.monotonic()
    said = ask(url="https://books.example/", body="{}", key="k", seconds=0.1, private=True)
    open_again.set()
    assert (said.status, said.detail) == ("timed_out", "No answer within 0.1 s.")
    assert time.monotonic() - began < 2


def test_what_the_setting_may_say() -> None:
    (one,) = read(json.dumps([HOOK]))
    assert about([one], tool="claims.pay", judges="proposal", workspace="w") == [one]
    assert about([one], tool="claims.pay", judges="result", workspace="w") == []
    assert about([one], tool="shop.pay", judges="proposal", workspace="w") == []
    (here,) = read(json.dumps([HOOK | {"workspace": "v"}]))
    assert about([here], tool="claims.pay", judges="proposal", workspace="w") == []
    assert read("") == ()
    for wrong in (
        [HOOK, HOOK],
        [HOOK | {"url": "file:///x"}],
        [HOOK | {"gate": True, "judges": "result"}],
        [HOOK | {"seconds": 61}],
        [HOOK | {"more": 1}],
        HOOK,
    ):
        with pytest.raises(ValueError, match="."):
            read(json.dumps(wrong))


class Handler(BaseHTTPRequestHandler):
    """Answers as its path says."""

    def do_POST(self) -> None:
        seen.append((json.loads(self.rfile.read(int(self.headers["Content-Length"]))), self.headers["Host"]))
        what = self.path.strip("/")
        if what == "slow-head":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            self._drip()
            return
        if what == "redirect":
            self.send_response(307)
            self.send_header("Location", "/passed")
            self.end_headers()
            return
        numbers = {
            "broken": 500,
            "created": 201,
            "accepted": 202,
            "another": 203,
            "nothing": 204,
            "part": 206,
        }
        self.send_response(numbers.get(what, 200))
        self.end_headers()
        answers = {
            **dict.fromkeys(("created", "accepted", "another", "nothing", "part"), '{"passed":true}'),
            "passed": '{"passed":true,"detail":"fits"}',
            "failed": '{"passed":false,"contradicts":"few"}',
            "twice": '{"passed":false,"passed":true}',
            "mark": '\ufeff{"passed":true}',
            "nan": '{"passed":true,"n":NaN}',
            "deep": '{"passed":true,"n":' + "[" * 30_000 + "]" * 30_000 + "}",
        }
        text = answers.get(what, '{"passed":"true"}' if what == "odd" else "?" * 70_000)
        if what == "slow":
            self._drip()
        else:
            self.wfile.write(text.encode())

    def _drip(self) -> None:
        for _ in range(30):
            try:
                self.wfile.write(b" ")
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.1)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


seen: list[Any] = []


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("passed", "passed", "fits"),
        ("failed", "failed", ""),
        ("redirect", "error", "It answered with a redirect, which is not followed."),
        ("created", "passed", ""),
        ("accepted", "error", "It answered with the status 202."),
        ("another", "error", "It answered with the status 203."),
        ("nothing", "error", "It answered with the status 204."),
        ("part", "error", "It answered with the status 206."),
        ("broken", "error", "It answered with the status 500."),
        ("odd", "error", "Its answer does not say whether it passed."),
        ("huge", "error", "Its answer has more than 64000 bytes."),
        ("twice", "error", "Its answer is no JSON."),
        ("mark", "error", "Its answer is no JSON."),
        ("nan", "error", "Its answer is no JSON."),
        ("deep", "error", "Its answer is no JSON."),
        ("slow", "timed_out", "No answer within 0.5 s."),
        ("slow-head", "timed_out", "No answer within 0.5 s."),
    ],
)
def test_only_a_plain_true_is_a_yes(port: int, path: str, status: str, detail: str) -> None:
    seen.clear()
    began = time.monotonic()
    said = ask(url=f"http://localhost:{port}/{path}", body='{"n":1}', key="k", seconds=0.5, private=True)
    assert time.monotonic() - began < 2
    assert (said.status, said.detail) == (status, detail)
    assert said.contradicts == ("few" if path == "failed" else "")
    # Once, and by its own name: a redirect is not followed.
    assert seen == [({"n": 1}, f"localhost:{port}")]


def test_an_address_of_the_house_is_not_asked(port: int) -> None:
    seen.clear()
    for url in (f"http://localhost:{port}/passed", f"http://127.0.0.1:{port}/passed"):
        said = ask(url=url, body="{}", key="k", seconds=5, private=False)
        assert (said.status, "not public" in said.detail) == ("error", True)
    assert seen == []
    nobody = ask(url="http://127.0.0.1:1/", body="{}", key="k", seconds=5, private=True)
    assert (nobody.status, nobody.detail) == ("error", "It could not be asked: ConnectError.")
