"""The pages about saved states: what they show, what they leave out and name, and what they never show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.web import differing, state_view
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of

As = Callable[[Member], Client]
SECRET = "sk_live_abcdefghijklmnop1234"
HOSTILE = "<script>alert(1)</script>\u202e{{ 7*7 }}"


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def save(agent: AgentHttp, run: str, **body: Any) -> Any:
    return agent.post(f"/runs/{run}/checkpoints", body).ok(201)


def page(client: Client, path: str, *, status: int = 200) -> str:
    answer = client.get(f"/northwind/{path}")
    assert answer.status_code == status, answer.content.decode()[:2000]
    return answer.content.decode()


@pytest.fixture
def way(agent: AgentHttp) -> list[dict[str, Any]]:
    """Three steps of one run."""
    run = agent.run(title="Ticket")["id"]
    first = save(agent, run, state={"n": 1, "order": {"to": "Oslo", "api_key": SECRET}}, step=1)
    second = save(
        agent, run, state={"n": 1, "order": {"to": HOSTILE, "api_key": "other" * 9}, "log": ["a"]}, step=2
    )
    third = save(agent, run, state={"n": 2, "order": {"to": HOSTILE, "api_key": "other" * 9}}, step=3)
    return [first, second, third]


def test_a_checkpoint_opens_and_shows_text_as_data_and_no_secret(
    cast: Cast, as_: As, way: list[dict[str, Any]]
) -> None:
    client = as_(cast.bob)
    shown = page(client, f"checkpoints/{way[1]['id']}")
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "U+202E" in shown
    for one in way[:2]:
        assert SECRET not in page(client, f"checkpoints/{one['id']}")
        assert SECRET not in page(client, f"checkpoints/{one['id']}?path=/order/api_key")
    inside = page(client, f"checkpoints/{way[1]['id']}?path=/log")
    assert "trace?path=%2Flog%2F0" in inside
    assert "no /nothing in this state" in page(
        client, f"checkpoints/{way[1]['id']}?path=/nothing", status=422
    )
    assert page(client, f"checkpoints/{way[1]['id']}?path=/log&from=7", status=422)


def test_the_one_before_is_compared_by_default_and_any_other_can_be(
    cast: Cast, as_: As, way: list[dict[str, Any]]
) -> None:
    client = as_(cast.bob)
    shown = page(client, f"checkpoints/{way[1]['id']}/difference")
    assert "/order/to" in shown
    assert "Oslo" in shown
    assert "3 differences" in shown
    assert SECRET not in shown
    assert "/order/api_key" in shown
    assert f"?with={way[2]['id']}" in shown
    other = page(client, f"checkpoints/{way[2]['id']}/difference?with={way[0]['id']}")
    assert "/n" in other
    assert "/log" not in other
    assert "first checkpoint" in page(client, f"checkpoints/{way[0]['id']}/difference")
    for wrong in ("x", way[0]["run"]):
        page(client, f"checkpoints/{way[0]['id']}/difference?with={wrong}", status=404)


def test_history_tells_kinds_apart_and_compares_two(
    cast: Cast, as_: As, agent: AgentHttp, way: list[dict[str, Any]]
) -> None:
    bob = PersonHttp(cast.bob)
    made = bob.post(
        f"/checkpoints/{way[1]['id']}/rewrite",
        {"changes": [{"op": "set", "path": "/n", "value": 5}], "reason": "wrong <i>number</i>"},
    ).ok(201)
    client = as_(cast.bob)
    shown = page(client, f"runs/{way[0]['run']}/history")
    assert "Rewrite" in shown
    assert "wrong &lt;i&gt;number&lt;/i&gt;" in shown
    assert way[2]["id"] not in shown, "the way of the new branch leads past what came after"
    old = page(client, f"runs/{way[0]['run']}/history?branch={way[0]['branch']}")
    assert way[2]["id"] in old
    answer = client.get(
        f"/northwind/runs/{way[0]['run']}/history?old={way[0]['id']}&new={made['checkpoint']}"
    )
    assert answer.headers["Location"] == (
        f"/northwind/checkpoints/{made['checkpoint']}/difference?with={way[0]['id']}"
    )
    page(client, f"runs/{way[0]['run']}/history?branch={way[0]['id']}", status=404)
    page(client, f"runs/{way[0]['run']}/history?cursor=x", status=422)
    rewritten = page(client, f"checkpoints/{made['checkpoint']}")
    assert "Rewritten by" in rewritten


def test_a_value_tells_who_changed_it_and_where_it_came_and_went(
    cast: Cast, as_: As, way: list[dict[str, Any]]
) -> None:
    client = as_(cast.bob)
    at = f"checkpoints/{way[1]['id']}/trace"
    shown = page(client, f"{at}?path=/log")
    assert f"checkpoints/{way[1]['id']}/difference" in shown
    assert f"/northwind/checkpoints/{way[2]['id']}" in shown, "lost there"
    asked = page(client, f"{at}?path=/n&value=2")
    assert f"/northwind/checkpoints/{way[2]['id']}" in asked
    assert "Never on this branch" in page(client, f"{at}?path=/n&value=2.0")
    assert "JSON" in page(client, f"{at}?path=/n&value=x", status=422)
    hidden = page(client, f"{at}?path=/order/api_key")
    assert SECRET not in hidden
    guess = page(client, f"{at}?path=/order/api_key&value=%22{SECRET}%22", status=422)
    assert SECRET not in guess
    assert "guesses" in guess
    page(client, f"{at}?path=", status=422)


def test_large_states_are_opened_in_parts_and_what_is_left_out_is_named(
    cast: Cast, as_: As, agent: AgentHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_view, "MOST_BYTES", 3000)
    monkeypatch.setattr(state_view, "MOST_OPENED", 9000)
    run = agent.run()["id"]
    state = {
        "deep": {"x": {"y": "z" * 5000}},
        "huge": {"a": {"b": "h" * 20_000}},
        "log": [f"entry {n}" for n in range(1000)],
        "small": 1,
        "text": "t" * 8000,
    }
    saved = save(agent, run, state=state)
    client = as_(cast.bob)
    shown = page(client, f"checkpoints/{saved['id']}")
    assert "list of 1,000" in shown
    assert "entry 5" not in shown
    inside = page(client, f"checkpoints/{saved['id']}?path=/log&from=200")
    assert "entry 200" in inside
    assert "entry 300" not in inside
    assert "201 to 300 of 1000" in inside
    assert "too large for a page" in page(client, f"checkpoints/{saved['id']}?path=/huge")
    assert "opens at most" in page(client, f"checkpoints/{saved['id']}?path=/huge/a/b", status=422)
    assert "ttttt" in page(client, f"checkpoints/{saved['id']}?path=/text")


def test_a_long_difference_says_that_there_is_more(
    cast: Cast, as_: As, agent: AgentHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differing, "MOST_BYTES", 3000)
    monkeypatch.setattr("reviewhub.web.checkpoints.MOST_BYTES", 3000)
    run = agent.run()["id"]
    save(agent, run, state={"log": list(range(3000)), "text": "a" * 5000})
    second = save(agent, run, state={"log": list(range(1, 3001)), "text": "b" * 5000})
    shown = page(as_(cast.bob), f"checkpoints/{second['id']}/difference")
    assert "The first 200 differences" in shown
    third = save(agent, run, state={"log": list(range(1, 3001)), "text": "c" * 5000})
    assert "text of 5,002 bytes" in page(as_(cast.bob), f"checkpoints/{third['id']}/difference")


def test_what_a_schema_marks_is_hidden_at_its_place() -> None:
    schema = '{"properties":{"people":{"items":{"properties":{"phone":{"writeOnly":true}}}}}}'
    found = state_view.write_only_at(schema, ("people", 7), {"phone": "1", "name": "x"})
    assert found == {"/people/7/phone"}
    assert state_view.write_only_at(schema, ("people", 7, "phone"), "1") == {"/people/7/phone"}
    assert state_view.write_only_at(schema, ("other",), "1") == frozenset()
