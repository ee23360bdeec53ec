"""Bodies that nobody should send, at every endpoint that takes one: a problem names the place, nothing is stored."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from django.apps import apps

from tests.api.access import ACCESS
from tests.api.test_access import Scene, _address, scene
from tests.driver import API, AgentHttp, PersonHttp, Reply, _reply

__all__ = ["scene"]

WRITES = sorted(name for name in ACCESS if not name.startswith("GET "))
DEEP = "[" * 200 + "]" * 200
# What it is: the body, and of the problem its status, its code and where one of its errors is.
NO_BODIES: dict[str, tuple[bytes, int, str, str]] = {
    "no JSON": (b"{'a': 1}", 400, "invalid_json", ""),
    "cut off": (b'{"a":[1', 400, "invalid_json", ""),
    "no UTF-8": (b'{"a":"\xff"}', 422, "invalid", ""),
    "two values": (b"{}{}", 400, "invalid_json", ""),
    "NaN": (b'{"a":[NaN]}', 400, "not_a_number", "/a/0"),
    "infinity": (b'{"a":-Infinity}', 400, "not_a_number", "/a"),
    "one key twice": (b'{"a":{"b":1,"b":1}}', 400, "duplicate_key", "/a/b"),
    "too deep": (b'{"a":%s}' % DEEP.encode(), 400, "too_deep", "/a"),
    "half a pair": (b'{"a":"\\ud800"}', 422, "invalid", "/a"),
    "U+0000": (b'{"a":"x\\u0000"}', 422, "invalid", "/a"),
    "half a pair in a name": (b'{"\\udfff":1}', 422, "invalid", ""),
    "U+0000 in a name": (b'{"\\u0000":1}', 422, "invalid", ""),
    "a list": (b"[]", 422, "invalid", ""),
    "null": (b"null", 422, "invalid", ""),
    "a text": (b'"{}"', 422, "invalid", ""),
    "an unknown field": (b'{"no such field":1}', 422, "invalid", "/no such field"),
    "a field of objects": (b'{"__proto__":{},"__class__":1}', 422, "invalid", "/__"),
}


def sent(who: Any, endpoint: str, scene: Scene, body: bytes) -> Reply:
    method, path = _address(endpoint, scene.ids)
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    if isinstance(who, AgentHttp):
        headers["Authorization"] = f"Bearer {who.token}"
    return _reply(who.client.generic(method.upper(), API + path, body, "application/json", headers=headers))


def stored() -> dict[str, int]:
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def caller(scene: Scene, endpoint: str) -> AgentHttp | PersonHttp:
    return scene.everybody[ACCESS[endpoint].may[0]]  # type: ignore[no-any-return]


@pytest.mark.django_db
@pytest.mark.parametrize("endpoint", WRITES)
def test_what_is_no_message_is_refused_and_leaves_nothing(endpoint: str, scene: Scene) -> None:
    who, before, wrong = caller(scene, endpoint), stored(), []
    for said, (body, status, code, path) in NO_BODIES.items():
        got = sent(who, endpoint, scene, body)
        paths = [one["path"] for one in got.json.get("errors", [])]
        named = not path or any(one.startswith(path) for one in paths)
        if (got.status, got.code) != (status, code) or not named:
            wrong.append((said, got.status, got.code, paths))
    assert wrong == []
    assert stored() == before
