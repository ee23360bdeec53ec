"""An edit in the record: what was changed, and from what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.audit.models import Event
from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call

pytestmark = pytest.mark.django_db

SECRET = "sk_live_51H8abcdefghijkl"
ARGUMENTS = {
    "amount": "10.00",
    "lines": [{"sku": "a"}, {"sku": "b"}],
    "api_key": "oldoldoldold1234",
    "note": SECRET,
}


def edited(cast: Cast, *changes: dict[str, Any]) -> dict[str, Any]:
    """The data of the event of an edit, and the call's digests before and after."""
    agent = agent_of(cast.support)
    schema = {"type": "object", "properties": {"iban": {"type": "string", "writeOnly": True}}}
    agent.put("/tools/pay", {"effect": "once", "schema": schema}).ok()
    asked = call("pay", arguments={**ARGUMENTS, "iban": "DE00111122223333"})
    (one,) = agent.pause(agent.run()["id"], asked).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(one, "edit", changes=list(changes)).ok()
    event = Event.objects.select_related("payload").get(kind="request.changed")
    data: dict[str, Any] = json.loads(event.payload.body)["data"]
    assert (data["old_digest"], str(event.subject_id)) == (one["digest"], one["id"])
    return data


def test_it_says_what_stood_there(cast: Cast) -> None:
    data = edited(
        cast,
        {"op": "set", "path": "/amount", "value": "7.50"},
        {"op": "set", "path": "/amount", "value": "8.00"},
        {"op": "remove", "path": "/lines/1"},
        {"op": "insert", "path": "/urgent", "value": True},
    )
    assert json.loads(data["before"]) == [
        {"op": "set", "path": "/amount", "value": "10.00"},
        {"op": "insert", "path": "/lines/1", "value": {"sku": "b"}},
        {"op": "remove", "path": "/urgent"},
    ]


def test_it_tells_no_secret(cast: Cast) -> None:
    data = edited(
        cast,
        {"op": "set", "path": "/api_key", "value": "newnewnewnew5678"},
        {"op": "set", "path": "/note", "value": "none"},
        {"op": "set", "path": "/iban", "value": "DE00999988887777"},
    )
    text = json.dumps(data)
    for hidden in ("oldold", SECRET, "1111", "9999", "newnew"):
        assert hidden not in text
    assert [change["path"] for change in json.loads(data["before"])] == ["/api_key", "/iban", "/note"]
