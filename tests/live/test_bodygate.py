"""The body gate: size, time and sender are checked before the application sees the request."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from reviewhub.live.asgi_types import Receive, Scope, Send
from reviewhub.live.bodygate import BodyGate, Limits
from reviewhub.live.bodyroom import OPEN_ANONYMOUS, Room, client_of
from reviewhub.live.keycheck import KeyCheck
from reviewhub.live.refuse import Refused
from tests.live.asgi import Answer, Connection, ask, http_scope

LIMITS = Limits(body_bytes=100_000, body_seconds=0.3, buffered_bytes=250_000, session_cookie="sessionid")
KEY = ("Authorization", "Bearer rh_good")
SESSION = ("Cookie", "theme=dark; sessionid=abc")
MADE_UP = ("Cookie", "sessionid=x")


class Inner:
    """The application behind the gate; keeps what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[Scope, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        self.seen.append((scope, message["body"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"fine"})


@pytest.fixture
def inner() -> Inner:
    return Inner()


@pytest.fixture
def asked() -> list[str]:
    """The keys that were looked up."""
    return []


@pytest.fixture
def gate(inner: Inner, asked: list[str]) -> BodyGate:
    def lookup(token: str) -> bool:
        asked.append(token)
        return token == "rh_good"

    return BodyGate(inner, limits=LIMITS, keys=KeyCheck(lookup), sessions=KeyCheck("abc".__eq__))


def post(size: int | str, *headers: tuple[str, str], path: str = "/api/v1/runs") -> Scope:
    return http_scope("POST", path, headers=[("Content-Length", str(size)), *headers])


def chunked(*headers: tuple[str, str], path: str = "/api/v1/runs") -> Scope:
    return http_scope("POST", path, headers=[("Transfer-Encoding", "chunked"), *headers])


async def test_a_body_in_pieces_arrives_whole_and_with_its_length(gate: BodyGate, inner: Inner) -> None:
    answer = await ask(gate, chunked(KEY), Connection([b"ab", b"cd", b""]))
    scope, body = inner.seen[0]
    assert (answer.status, body) == (200, b"abcd")
    assert (b"content-length", b"4") in scope["headers"]
    assert not any(name == b"transfer-encoding" for name, _ in scope["headers"])


async def test_an_announced_size_over_the_limit_is_413_unread(gate: BodyGate, inner: Inner) -> None:
    connection = Connection([b"x" * 1000] * 1000)
    answer = await ask(gate, post(1_000_000, KEY, ("Expect", "100-continue")), connection)
    assert answer.status == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json["code"], answer.json["limit"], answer.json["value"]) == (
        "too_large",
        100_000,
        1_000_000,
    )
    assert not inner.seen and connection.read == 0


async def test_a_body_that_grows_over_the_limit_is_413(gate: BodyGate, inner: Inner) -> None:
    answer = await ask(gate, chunked(KEY), Connection([b"x" * 60_000] * 9))
    assert (answer.status, answer.json["limit"]) == (413, 100_000)
    assert not inner.seen


async def test_a_slow_body_is_408(gate: BodyGate, inner: Inner) -> None:
    started = time.monotonic()
    answer = await ask(gate, post(100, KEY), Connection([b"x"] * 100, pause=0.05))
    assert answer.status == 408 and answer.json["code"] == "too_slow"
    assert time.monotonic() - started < 2
    assert not inner.seen


@pytest.mark.parametrize(
    "header", ["Bearer rh_wrong", "Bearer", "Bearer ", "Basic YTpi", "rh_good", "Bearer rh_gööd"]
)
async def test_a_wrong_key_is_401_before_the_body_is_read(gate: BodyGate, inner: Inner, header: str) -> None:
    connection = Connection([b"{}"])
    headers = ("Authorization", header), ("Expect", "100-continue")
    answer = await ask(gate, post(2, *headers), connection)
    assert (answer.status, answer.json["code"], connection.read) == (401, "unauthenticated", 0)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert not inner.seen


async def test_two_authorization_headers_count_as_garbled(gate: BodyGate) -> None:
    answer = await ask(gate, post(2, KEY, ("Authorization", "Bearer rh_good")), Connection([b"{}"]))
    assert answer.status == 401


async def test_no_key_needs_a_session(gate: BodyGate, inner: Inner) -> None:
    assert (await ask(gate, post(2), Connection([b"{}"]))).status == 401
    assert (await ask(gate, post(2, SESSION), Connection([b"{}"]))).status == 200
    connection = Connection([b"{}"])
    assert (await ask(gate, post(2, MADE_UP, ("Expect", "100-continue")), connection)).status == 401
    assert connection.read == 0


async def test_a_known_key_is_looked_up_once_and_a_wrong_one_each_time(
    gate: BodyGate, asked: list[str]
) -> None:
    for token in ("rh_good", "rh_good", "rh_wrong", "rh_wrong"):
        await ask(gate, post(2, ("Authorization", f"Bearer {token}")), Connection([b"{}"]))
    assert asked == ["rh_good", "rh_wrong", "rh_wrong"]


async def test_a_stranger_may_send_a_form_but_nothing_large(gate: BodyGate) -> None:
    assert (await ask(gate, post(10, path="/signin"), Connection([b"x" * 10]))).status == 200
    for claim in ((), (MADE_UP,), (KEY,), (("Authorization", "Bearer x"),), (MADE_UP, KEY)):
        refused = await ask(gate, post(70_000, *claim, path="/signin"), Connection([b"x" * 70_000]))
        assert (refused.status, refused.json["limit"]) == (413, 64_000), claim
    assert (await ask(gate, post(70_000, SESSION, path="/a"), Connection([b"x" * 70_000]))).status == 200


async def test_many_large_bodies_at_once_are_bounded(gate: BodyGate) -> None:
    connections = [Connection([b"x" * 50_000, b"x" * 50_000], pause=0.1) for _ in range(4)]
    answers = await asyncio.gather(*(ask(gate, post(100_000, KEY), one) for one in connections))
    assert {answer.status for answer in answers} == {200, 503}
    assert gate.room.held == 0
    later = await ask(gate, post(100_000, KEY), Connection([b"x" * 100_000]))
    assert later.status == 200, "what was refused or done gives its share back"


async def test_announced_bytes_that_do_not_come_take_no_place(gate: BodyGate) -> None:
    silent = [
        asyncio.ensure_future(ask(gate, post(100_000, KEY), Connection([b"x"] * 9, pause=5)))
        for _ in range(20)
    ]
    await asyncio.sleep(0.05)
    assert (await ask(gate, post(100_000, KEY), Connection([b"x" * 100_000]))).status == 200
    assert {answer.status for answer in await asyncio.gather(*silent)} == {408}
    assert gate.room.held == 0


async def test_one_client_takes_a_share_only() -> None:
    room = Room(most_bytes=1_000_000, body_bytes=100_000, anonymous_bytes=64_000)
    whole = 0
    with pytest.raises(Refused):
        for _ in range(20):
            room.take(room.enter("192.0.2.1", known=True, announced=80_000), 80_000)
            whole += 80_000
    assert whole == 400_000
    with pytest.raises(Refused):
        room.enter("192.0.2.1", known=True, announced=80_000)
    other = room.enter("192.0.2.2", known=True, announced=80_000)
    room.take(other, 80_000)
    room.arrived(other)
    assert room.held == 480_000
    room.leave(other)
    assert room.held == 400_000


async def test_the_oldest_form_makes_room_and_the_others_stay(inner: Inner) -> None:
    """Also a person behind the same address as somebody who sends slowly gets through, and strangers take nothing."""
    gate = BodyGate(
        inner,
        limits=Limits(
            body_bytes=100_000, body_seconds=2, buffered_bytes=2_000_000, session_cookie="sessionid"
        ),
        keys=KeyCheck("rh_good".__eq__),
        sessions=KeyCheck("abc".__eq__),
    )

    def slow() -> asyncio.Future[Answer]:
        pieces = Connection([b"x" * 10_000] * 6, pause=0.1)
        return asyncio.ensure_future(ask(gate, post(64_000, path="/signin"), pieces))

    many = [slow() for _ in range(OPEN_ANONYMOUS + 10)]
    for _ in range(8):
        await asyncio.sleep(0.05)
        assert gate.room.held <= 200_000
        form = await ask(gate, post(200, path="/signin"), Connection([b"x" * 200]))
        assert form.status == 200
        assert (await ask(gate, post(90_000, KEY), Connection([b"x" * 90_000]))).status == 200
    statuses = [answer.status for answer in await asyncio.gather(*many)]
    assert statuses[:10] == [503] * 10
    assert gate.room.held == 0


async def test_who_was_put_out_takes_no_more_room() -> None:
    """Its task can have been woken by more bytes before it learns that its time is over."""
    room = Room(most_bytes=1_000_000, body_bytes=100_000, anonymous_bytes=10_000)
    slow = room.enter("192.0.2.1", known=False, announced=0)
    async with slow.clock:
        room.take(slow, 50_000)
        other = room.enter("192.0.2.1", known=False, announced=0)
        room.take(other, 50_000)
        assert slow.put_out
        room.arrived(other)
        for size in (1, 60_000):
            with pytest.raises(Refused):
                room.take(slow, size)
    assert room.held == 50_000


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("", "unix:", False),
    ],
)
def test_a_client_is_an_address_or_a_network_that_one_client_has(one: str, other: str, same: bool) -> None:
    assert (client_of({"client": (one, 1)}) == client_of({"client": (other, 2)})) == same


async def test_a_client_that_hangs_up_gets_nothing(gate: BodyGate, inner: Inner) -> None:
    connection = Connection([])
    connection.hung_up.set()
    answer = await ask(gate, post(10, KEY), connection)
    assert (answer.status, inner.seen) == (0, [])


@pytest.mark.parametrize("size", ["-1", "1e3", "", "0x10", "٣".encode().decode("latin-1"), "9" * 5000])
async def test_a_length_that_is_no_number_is_400(gate: BodyGate, size: str) -> None:
    assert (await ask(gate, post(size, KEY), Connection([b"x"]))).status == 400


@pytest.mark.parametrize(
    ("path", "query"),
    [("/a\x00b", ""), ("/", "q=%00"), ("/", "q=\u00e4".encode()), ("/a/%FF", ""), ("/", "q=%C3")],
)
async def test_addresses_that_a_database_would_choke_on_are_400(
    gate: BodyGate, path: str, query: str
) -> None:
    assert (await ask(gate, http_scope("GET", path, query))).status == 400


async def test_headers_with_an_underscore_do_not_reach_wsgi(gate: BodyGate, inner: Inner) -> None:
    await ask(gate, http_scope(headers=[("X_Forwarded_Proto", "https"), ("X-Real", "1")]))
    assert [name for name, _ in inner.seen[0][0]["headers"]] == [b"x-real", b"content-length"]


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([("Content-Type", "text/xml")], "text/xml; bodies are taken as application/json only"),
        ([("Content-Type", "application/x-www-form-urlencoded")], "application/json only"),
        ([("Content-Type", "multipart/form-data; boundary=x")], "application/json only"),
        ([("Content-Type", "application/json; charset=utf-16")], "utf-16; texts are taken in utf-8 only"),
        ([("Content-Type", "application/json; Charset = raw_unicode_escape")], "utf-8 only"),
        ([("Content-Type", "application/json"), ("Content-Type", "text/xml")], "application/json only"),
        ([("Content-Type", "application/json"), ("Content-Encoding", "gzip")], "gzip; bodies are taken unpacked"),
        ([("Content-Encoding", "identity, br")], "unpacked only"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("send", [post, chunked])
async def test_what_is_no_plain_json_is_415(
    headers: list[tuple[str, str]], said: str, send: Any, gate: BodyGate, inner: Inner
) -> None:
    scope = post(2, KEY, *headers) if send is post else chunked(KEY, *headers)
    answer = await ask(gate, scope, Connection([b"{}"]))
    assert (answer.status, answer.json["code"]) == (415, "unsupported_media_type")
    assert said in answer.json["detail"]
    assert not inner.seen


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "application/json",
        "Application/JSON;charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/json;",
    ],
)
async def test_plain_json_and_no_type_are_taken(kind: str, gate: BodyGate, inner: Inner) -> None:
    headers = [("Content-Type", kind), ("Content-Encoding", "identity")] if kind else []
    answer = await ask(gate, post(2, KEY, *headers), Connection([b"{}"]))
    assert (answer.status, len(inner.seen)) == (200, 1)


@pytest.mark.parametrize("charset", ["utf-16", "hex", "raw_unicode_escape"])
async def test_pages_read_utf8_only(charset: str, gate: BodyGate, inner: Inner) -> None:
    kind = ("Content-Type", f"multipart/form-data; boundary=x; charset={charset}")
    for scope in (post(2, SESSION, kind, path="/north/requests/1/ask"), http_scope(path="/", headers=[kind])):
        answer = await ask(gate, scope, Connection([b"{}"]))
        assert (answer.status, answer.json["code"]) == (415, "unsupported_media_type")


async def test_forms_of_pages_are_taken(gate: BodyGate, inner: Inner) -> None:
    kind = ("Content-Type", "application/x-www-form-urlencoded")
    answer = await ask(gate, post(2, SESSION, kind, path="/north/requests/1/ask"), Connection([b"a="]))
    assert answer.status == 200
