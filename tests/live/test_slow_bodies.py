"""Clients that announce much and send little, on real sockets against the running server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest
from django.test import Client

from tests.cast import PASSWORD, Cast, make_cast, make_test_agent
from tests.running import running

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def server(people: Cast) -> Iterator[str]:
    with running() as address:
        yield address


def session_of(people: Cast) -> str:
    """The session cookie of bob, who is signed in."""
    client = Client()
    client.force_login(people.bob.person)
    return client.cookies["sessionid"].value


def silent(stack: ExitStack, server: str, count: int, path: str, *headers: str) -> list[socket.socket]:
    """Connections that send a head with these headers, one byte, and then nothing."""
    host, port = urlsplit(server).hostname, urlsplit(server).port
    found = []
    for _ in range(count):
        one = stack.enter_context(socket.create_connection((host, port)))
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: {host}:{port}",
            "Content-Type: text/plain",
            *headers,
            "",
            "x",
        ]
        one.sendall("\r\n".join(head).encode())
        found.append(one)
    return found


def sign_in(server: str) -> None:
    """Bob signs in with a browser that is new here."""
    with httpx.Client(base_url=server, timeout=10) as browser:
        page = browser.get("/signin")
        token = page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        form = {"csrfmiddlewaretoken": token, "email": "bob@example.com", "password": PASSWORD}
        answer = browser.post("/signin", data=form, headers={"Referer": f"{server}/signin"})
        assert answer.status_code == 302, answer.text[:300]
        assert browser.get("/northwind/queue").status_code == 200


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/signin", ["Cookie: sessionid=x", "Content-Length: 10000000"]),
        ("/signin", [f"Cookie: sessionid={'a' * 32}", "Content-Length: 10000000"]),
        ("/signin", ["Authorization: Bearer rh_x", "Content-Length: 10000000"]),
        ("/api/v1/requests/decide", ["Cookie: sessionid=x", "Content-Length: 10000000"]),
        ("/signin", ["Content-Length: 64000"]),
        ("/signin", ["Transfer-Encoding: chunked", "", "1"]),
        ("/signin", ["Cookie: sessionid={session}", "Content-Length: 10000000"]),
    ],
    ids=["made up", "like a session", "key elsewhere", "api", "form", "chunked", "signed in"],
)
def test_nobody_stops_the_others(server: str, people: Cast, path: str, headers: list[str]) -> None:
    _, _, token = make_test_agent(people.support)
    session = session_of(people)
    with ExitStack() as stack:
        for count in (20, 100):
            silent(stack, server, count, path, *(one.format(session=session) for one in headers))
            sign_in(server)
            started = httpx.post(
                f"{server}/api/v1/runs",
                json={"title": "x" * 60_000},
                headers={"Authorization": f"Bearer {token}", "Idempotency-Key": f"k{count}"},
            )
            assert started.status_code in (201, 422), started.text


def test_only_a_living_session_lifts_the_limit(server: str, people: Cast) -> None:
    """A person who was disabled, signed out or never was may send a form, and nothing larger."""
    session = session_of(people)

    def status(cookie: str) -> int:
        answer = httpx.post(f"{server}/signin", content=b"x" * 70_000, cookies={"sessionid": cookie})
        return answer.status_code

    assert status("b" * 32) == 413
    assert status(session) != 413
    other = Client()
    other.force_login(people.dave.person)
    people.dave.person.is_active = False
    people.dave.person.save()
    assert status(other.cookies["sessionid"].value) == 413
