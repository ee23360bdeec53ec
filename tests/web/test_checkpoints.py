"""The pages about saved states: what they show, what they leave out and name, and what they never show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion
from reviewhub.runs.models import Branch
from reviewhub.web import differing, state_view
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared

As = Callable[[Member], Client]
SECRET = "sk_live_abcdefghijklmnop1234"
HOSTILE = "<script>alert(1)</script>\u202e{{ 7*7 }}"


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def save(agent: AgentHttp, run: str, **body: Any) -> Any:
    return agent.post(f"/runs/{run}/checkpoints", body).ok(201)


def page(client: Client, path: str, *, status: int = 200) -> str:
    answer = client.get(f"/northwind/{path}")
    assert answer.status_code == status, answer.content.decode()[:2000]
    return answer.content.decode()


@shared
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
    assert "<bdi>order/to" in shown
    assert "Oslo" in shown
    assert "3 differences" in shown
    assert SECRET not in shown
    assert "<bdi>order/api_key" in shown
    assert f"?with={way[2]['id']}" in shown
    other = page(client, f"checkpoints/{way[2]['id']}/difference?with={way[0]['id']}")
    assert "<bdi>n<" in other
    assert "<bdi>log<" not in other
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
    assert "Nothing had run there that stays done." in rewritten


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


def test_the_story_of_a_value_ends_in_time_and_goes_on_where_it_ended(
    cast: Cast, as_: As, agent: AgentHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviewhub.checkpoints.walk.MOST", 4)
    run = agent.run()["id"]
    saved = [save(agent, run, state={"n": step, "same": "x"}) for step in range(9)]
    client = as_(cast.bob)
    shown = page(client, f"checkpoints/{saved[-1]['id']}/trace?path=/same")
    assert "Before all that was looked at" in shown
    assert "4 of 9 checkpoints were looked at" in shown
    assert f"checkpoints/{saved[5]['id']}/trace?path=%2Fsame" in shown
    on = page(client, f"checkpoints/{saved[5]['id']}/trace?path=/same")
    assert f"checkpoints/{saved[2]['id']}/trace?path=%2Fsame" in on
    end = page(client, f"checkpoints/{saved[2]['id']}/trace?path=/same")
    assert "looked at" not in end
    assert "Not until this checkpoint" in end


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


def test_a_large_state_leaves_the_run_and_the_request_readable(
    cast: Cast, as_: As, agent: AgentHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither page reads it as a whole; the end of the conversation is shown all the same."""
    monkeypatch.setattr("reviewhub.web.talk.STATE_BYTES", 3000)
    monkeypatch.setattr("reviewhub.web.runs.STATE_BYTES", 3000)
    talked = [{"role": "user", "content": f"message {n} end"} for n in range(200)]
    run = agent.run()["id"]
    paused = agent.pause(run, call(), checkpoint={"state": {"messages": talked, "n": 1}}).ok(201)
    client = as_(cast.bob)
    shown = page(client, f"runs/{run}")
    assert "too large for this page" in shown
    assert f"/northwind/checkpoints/{paused['checkpoint']['id']}" in shown
    (one,) = paused["tool_calls"]
    asked = page(client, f"requests/{one['request']['number']}")
    assert "message 199 end" in asked
    assert "message 187 end" not in asked


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


def form_of(shown: str) -> dict[str, str]:
    """What a browser would send of the page's form, without its buttons."""
    found = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', shown))
    found |= dict(re.findall(r'<input class="in[^"]*" id="[^"]*" name="([^"]+)" value="([^"]*)"', shown))
    areas = re.findall(
        r'<textarea class="in[^"]*" id="[^"]*" name="([^"]+)"[^>]*>\n?([^<]*)</textarea>', shown
    )
    found |= dict(areas)
    for name, options in re.findall(
        r'<select class="in[^"]*"(?: id="[^"]*")? name="([^"]+)"[^>]*>(.*?)</select>', shown
    ):
        values = re.findall(r'<option value="([^"]*)"( selected)?>', options)
        found[name] = next((value for value, on in values if on), values[0][0])
    return {unescape(name): unescape(value) for name, value in found.items()}


def test_a_person_rewrites_and_is_told_what_stays_done(cast: Cast, as_: As, agent: AgentHttp) -> None:
    agent.put("/tools/refund", {"effect": "once"}).ok(200, 201)
    bob = PersonHttp(cast.bob)
    run = agent.run()["id"]
    raw = '{"state":{"amount":1240.00,"api_key":"KEY","log":["a","b","c"],"paid":true,"who":"Kim"}}'.replace(
        "KEY", SECRET
    )
    first = agent.post(f"/runs/{run}/checkpoints", raw=raw.encode()).ok(201)
    (done,) = agent.pause(run, call()).ok(201)["tool_calls"]
    bob.decide(done, "approve").ok()
    agent.consume(done).ok()
    agent.outcome(done).ok()
    agent.pause(run, call("mail", "c2")).ok(201)
    client = as_(cast.bob)
    address = f"/northwind/checkpoints/{first['id']}/rewrite"
    shown = client.get(address).content.decode()
    assert SECRET not in shown
    form = form_of(shown)
    assert (form["f:/amount"], form["f:/paid"], "f:/api_key" in form) == ("1240.00", "true", False)
    same = client.post(address, form | {"do": "take"}).content.decode()
    assert "Your changes" not in same, "what nobody touched is no change"
    given = {"f:/amount": "1240.10", "f:/paid": "false", "r:/log/0": "on", "r:/log/2": "on"}
    taken = client.post(address, form | given | {"do": "take"}).content.decode()
    form = form_of(taken)
    assert [one["path"] for one in json.loads(form["changes"])] == ["/amount", "/paid", "/log/2", "/log/0"]
    more = {"op": "insert", "at": "/log/-", "as": "text", "value": "d\r\ne"}
    no_reason = client.post(address, form | more | {"do": "preview"})
    assert no_reason.status_code == 422
    form = form_of(no_reason.content.decode())
    assert (form["reason"], form["value"]) == ("", "")
    form["reason"] = "wrong amount"
    asked = client.post(address, form | {"do": "preview"}).content.decode()
    assert "Already done, will not be undone" in asked
    assert "Withdrawn" in asked
    assert Branch.objects.count() == 1
    form = form_of(asked)
    back = client.post(address, form | {"back": "1"}).content.decode()
    assert form_of(back)["changes"] == form["changes"]
    answer = client.post(address, form | {"do": "confirm"})
    assert answer.status_code == 302
    made = Checkpoint.objects.get(branch__fork_of=first["id"])
    assert answer.headers["Location"] == f"/northwind/checkpoints/{made.pk}"
    told = client.get(answer.headers["Location"]).content.decode()
    assert "Already done, will not be undone" in told
    assert load(made) == (
        '{"amount":1240.10,"api_key":"KEY","log":["b","d\\ne"],"paid":false,"who":"Kim"}'.replace(
            "KEY", SECRET
        )
    )
    assert made.reason == "wrong amount"


def test_the_whole_state_is_edited_as_json(cast: Cast, as_: As, agent: AgentHttp) -> None:
    agent.put("/tools/refund", {"effect": "once"}).ok(200, 201)
    run = agent.run()["id"]
    kept = (
        '{"amount":1240.00,"big":12345678901234567890,"log":[{"api_key":"KEY","n":1},{"n":1E2}],"odd":"\u202e"}'
    ).replace("KEY", SECRET)
    first = agent.post(f"/runs/{run}/checkpoints", raw=f'{{"state":{kept}}}'.encode()).ok(201)
    (done,) = agent.pause(run, call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(done, "approve").ok()
    agent.consume(done).ok()
    agent.outcome(done).ok()
    client = as_(cast.bob)
    address = f"/northwind/checkpoints/{first['id']}/rewrite"
    shown = client.get(f"{address}?mode=raw").content.decode()
    assert "Already done, will not be undone" in shown, "told before anything is written"
    assert SECRET not in shown and "\u202e" not in shown
    form = form_of(shown) | {"reason": "wrong amount"}
    assert '"amount": 1240.00,' in form["raw"] and "1E2" in form["raw"] and r"\u202e" in form["raw"]
    same = client.post(address, form | {"do": "take"}).content.decode()
    assert "Your changes" not in same, "what nobody touched is no change"
    word = re.search('"(•[^"]+)"', form["raw"])
    assert word
    for typed, said in (
        ("{", "/: "),
        ("[]", "one JSON object"),
        (form["raw"].replace('"odd": ', f'"more": "{word[1]}", "odd": '), "stays where it is"),
    ):
        wrong = client.post(address, form | {"raw": typed, "do": "preview"})
        assert (wrong.status_code, form_of(wrong.content.decode())["raw"]) == (422, typed)
        assert said in unescape(wrong.content.decode())
    edited = form["raw"].replace("1240.00", "1240.10").replace('"n": 1\n', '"n": 7\n')
    asked = client.post(address, form | {"raw": edited, "do": "preview"}).content.decode()
    assert "2 values of checkpoint" in asked and SECRET not in asked
    form = form_of(asked)
    assert [one["path"] for one in json.loads(form["changes"])] == ["/amount", "/log/0/n"]
    back = client.post(address, form | {"back": "1"}).content.decode()
    assert "1240.10" in form_of(back)["raw"], "back to the text, with the changes in it"
    assert client.post(address, form | {"do": "confirm"}).status_code == 302
    made = Checkpoint.objects.get(branch__fork_of=first["id"])
    assert load(made) == kept.replace("1240.00", "1240.10").replace('"n":1}', '"n":7}')


def test_the_run_page_leads_to_the_rewrite_and_the_fork(
    cast: Cast, as_: As, way: list[dict[str, Any]]
) -> None:
    second, run = way[1]["id"], f"runs/{way[1]['run']}"
    link = f'href="/northwind/checkpoints/{second}/rewrite"'
    for path in (f"{run}?checkpoint={second}", f"checkpoints/{second}"):
        shown = page(as_(cast.bob), path)
        assert link in shown and "Fork from here…" in shown and "Pin…" in shown
        shown = page(as_(cast.carol), path)
        assert link not in shown and f"checkpoints/{second}/fork" not in shown
        assert "Only people of a team that looks after this run may do it." in shown
    Branch.objects.update(state="succeeded")
    shown = page(as_(cast.bob), f"{run}?checkpoint={second}")
    assert link not in shown and f"checkpoints/{second}/fork" in shown, "an ended branch is only forked"
    assert "main</bdi> is succeeded" in shown or "main is succeeded" in shown


def test_a_stale_form_is_told_who_and_when(cast: Cast, as_: As, agent: AgentHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 1})
    client = as_(cast.bob)
    address = f"/northwind/checkpoints/{first['id']}/rewrite"
    form = form_of(client.get(address).content.decode()) | {"f:/n": "2", "reason": "why not"}
    form = form_of(client.post(address, form | {"do": "preview"}).content.decode())
    save(agent, run, state={"n": 5})
    stale = client.post(address, form | {"do": "confirm"})
    assert stale.status_code == 409
    shown = stale.content.decode()
    assert "Nothing was rewritten: the branch has gone on" in shown
    assert re.search(r"Support agent</bdi> was last at it, <time [^>]+>\d+ \w+ \d+, [\d:]+ UTC</time>", shown)
    cast.alice.teams.add(cast.support)
    PersonHttp(cast.alice).post(f"/checkpoints/{first['id']}/rewrite", {"reason": "mine"}).ok(201)
    over = client.post(address, form_of(shown) | {"do": "confirm"})
    assert over.status_code == 409
    assert "Alice" in over.content.decode()
    assert "the branch is superseded" in over.content.decode()
    assert "why not" in over.content.decode(), "what was put together is not lost"
    late = page(client, f"checkpoints/{first['id']}/rewrite", status=409)
    assert "The branch is superseded and takes no rewrite any more" in late
    assert "Nothing was rewritten" not in late, "nobody sent anything"
    assert list(Branch.objects.order_by("created_at").values_list("name", flat=True)) == ["main", "rewrite-1"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"f:/n": "x"}, "Write a number"),
        ({"at": "/no/where", "value": "1"}, "there is no /no/where"),
        ({"at": "/n", "value": "{"}, "not JSON"),
        ({"at": "n", "value": "1"}, "starts with /"),
        ({"value": "1"}, "where the value belongs"),
        ({"at": "/n", "op": "insert", "value": "1"}, "exists already"),
        ({"at": "/n", "op": "explode", "value": "1"}, "sets, inserts or removes"),
        ({"changes": "[1]"}, "object with op"),
        ({"changes": "x"}, "damaged"),
        ({"from": "-1"}, "is a number"),
        ({"at": "/n", "as": "text", "value": "a\x00b"}, "U+0000"),
    ],
)
def test_what_does_not_fit_is_said_and_the_form_kept(
    cast: Cast, as_: As, agent: AgentHttp, given: dict[str, str], said: str
) -> None:
    first = save(agent, agent.run()["id"], state={"n": 1, "l": []})
    client = as_(cast.bob)
    address = f"/northwind/checkpoints/{first['id']}/rewrite"
    form = form_of(client.get(address).content.decode()) | {"reason": "my words"}
    answer = client.post(address, form | given | {"do": "preview"})
    assert answer.status_code == 422
    shown = unescape(answer.content.decode())
    assert said in shown
    assert "my words" in shown
    assert given.get("value", "").replace("\x00", "\ufffd") in shown
    assert Branch.objects.count() == 1


def test_a_large_state_is_edited_place_by_place(
    cast: Cast, as_: As, agent: AgentHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_view, "MOST_BYTES", 3000)
    first = save(agent, agent.run()["id"], state={"log": [{"t": f"entry {n}"} for n in range(500)], "n": 1})
    client = as_(cast.bob)
    address = f"/northwind/checkpoints/{first['id']}/rewrite"
    form = form_of(client.get(address).content.decode())
    assert not any(name.startswith("f:/log") for name in form)
    inside = form_of(client.post(address, form | {"f:/n": "2", "open": "/log@300"}).content.decode())
    assert json.loads(inside["changes"]) == [{"op": "set", "path": "/n", "value": 2}]
    assert inside["f:/log/300/t"] == "entry 300"
    asked = client.post(
        address, inside | {"f:/log/300/t": "mine", "reason": "r", "do": "preview"}
    ).content.decode()
    client.post(address, form_of(asked) | {"do": "confirm"})
    made = Checkpoint.objects.get(branch__fork_of=first["id"])
    tree = json.loads(load(made))
    assert (tree["n"], tree["log"][300], tree["log"][299]) == (2, {"t": "mine"}, {"t": "entry 299"})


@pytest.mark.parametrize("choice", ["keep", "checkpoint"])
def test_the_plan_stays_or_goes_back_with_the_state(
    cast: Cast, as_: As, agent: AgentHttp, choice: str
) -> None:
    run = agent.run()["id"]
    plain = save(agent, run, state={"n": 0})
    client = as_(cast.bob)
    assert 'name="plan"' not in page(client, f"checkpoints/{plain['id']}/rewrite")
    agent.post(f"/runs/{run}/plans", {"steps": [{"id": "a", "title": "First idea"}]}).ok(201)
    first = save(agent, run, state={"n": 1}, plan={"version": 1, "step": 0})
    second = {
        "steps": [{"id": "b", "title": "Second idea"}],
        "base": 1,
        "why": {"kind": "agent", "text": "better"},
    }
    agent.post(f"/runs/{run}/plans", second).ok(201)
    address = f"/northwind/checkpoints/{first['id']}/rewrite"
    form = form_of(client.get(address).content.decode()) | {"reason": "r", "plan": choice}
    asked = client.post(address, form | {"do": "preview"}).content.decode()
    said = {"keep": "says the same as version 2", "checkpoint": "goes back to version 1"}
    assert said[choice] in asked
    assert client.post(address, form_of(asked) | {"do": "confirm"}).status_code == 302
    newest = PlanVersion.objects.latest("number")
    assert (stored(newest).steps[0].title == "First idea") == (choice == "checkpoint")
    assert "in force" not in page(client, f"runs/{run}/plan/2").split('class="vers"')[1].split("Version 2")[1]
    assert "Also in force" not in page(client, f"runs/{run}")
    assert "Taken along by the rewrite: r" in page(client, f"runs/{run}/plan/{newest.number}")
