"""What pages and the record say: to whom, about whom, in which words, and at most how much of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Agent, AgentKey, Member
from reviewhub.audit.kinds import find, sentence
from reviewhub.core.display.arguments import text_row
from reviewhub.gates.kinds import AgentStopped, CallCancelled, PauseOpened
from reviewhub.reviews.kinds import RequestDecided, RequestVoted
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import Decision, ToolCall
from reviewhub.toolcalls.states import DecisionType
from reviewhub.web.templatetags.rh import hostile
from tests.cast import Cast, member
from tests.driver import agent_of, call
from tests.web.make import waiting
from tests.web.test_review import form_of, get, path_of, send

As = Callable[[Member], Client]


def text(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    return answer.content.decode()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("0", "a JSON number"),
        ("true", "a JSON boolean"),
        ("null", "JSON null"),
        (" [1] ", "a JSON list"),
        ('{"a":1}', "a JSON object"),
    ],
)
def test_an_answer_that_may_be_json_is_asked_about(cast: Cast, as_: As, value: str, kind: str) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    answer = send(client, row, "respond", value=value)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert f"can be read as {kind}" in page
    fields = {**form_of(page), "value": value}
    assert "value_as" not in re.findall(r'name="value_as"[^>]*checked', page)
    assert client.post(path_of(row, "/decide"), {**fields, "value_as": "text"}).status_code == 302
    stored = Decision.objects.get(request_id=row.pk).value
    assert stored is not None
    assert stored.startswith('"')
    other = waiting(cast.support)
    fields = {**form_of(get(client, other, "?mode=respond")), "value": value, "value_as": "json"}
    assert client.post(path_of(other, "/decide"), fields).status_code == 302
    stored = Decision.objects.get(request_id=other.pk).value
    assert stored is not None
    assert not stored.startswith('"')


@pytest.mark.parametrize("value", ["no", '"quoted"', "12 monkeys", "", "nul"])
def test_an_answer_that_is_only_text_is_not_asked_about(cast: Cast, as_: As, value: str) -> None:
    row = waiting(cast.support)
    assert send(as_(cast.bob), row, "respond", value=value).status_code == 302


def decided(type_: str) -> str:
    data = RequestDecided(number=5, type=type_, sentence="Refund $5", tool="t", version=1, digest="d")
    return sentence(find("request.decided"), actor="Bob", data=data)


@pytest.mark.parametrize("type_", [one for one in DecisionType.values if one != "deny"])
def test_every_decision_is_a_sentence(type_: str) -> None:
    said = decided(type_)
    assert re.fullmatch(r"Bob [a-z]+(ed|ew|aid|nt)\b.*#5.*: Refund \$5", said), said
    assert f" {type_} " not in said


def test_sentences_count_and_conjugate() -> None:
    voted = RequestVoted(number=5, tool="t", verdict="respond", version=1, digest="d", approvals=0, needed=1)
    assert sentence(find("request.voted"), actor="Bob", data=voted) == "Bob voted to answer in place of #5"
    more: dict[str, Any] = {
        "waiting": 1,
        "allowed": 0,
        "denied": 0,
        "checkpoint": "",
        "state_hash": "",
        "policy_version": 1,
    }
    for calls, words in ((1, "1 tool call:"), (3, "3 tool calls:")):
        said = sentence(find("pause.opened"), actor="A", data=PauseOpened(calls=calls, **more))
        assert said.startswith(f"A paused with {words}")
    assert sentence(find("agent.stopped"), actor="Al", data=AgentStopped(agent="A", runs=1)).endswith(
        "1 run cancelled"
    )
    cancelled = CallCancelled(tool="refund", digest="d", type="withdraw")
    assert (
        sentence(find("call.cancelled"), actor="A", data=cancelled)
        == "refund may not run any more: A withdrew it"
    )


def test_votes_are_sentences(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, approvals=2)
    send(as_(cast.bob), row, "approve")
    for rest in ("", "/peek"):
        page = get(as_(cast.bob), row, rest)
        assert "<b><bdi>Bob</bdi></b> approved" in page
        assert "</b> approve " not in page


def test_refusals_name_who_may_inside_the_shell(cast: Cast, as_: As) -> None:
    page = text(as_(cast.bob), "/northwind/audit", 403)
    assert "This is for managers and admins. You are a reviewer in this workspace." in page
    assert page.count("You may not do this") == 2  # title and heading
    assert 'href="/northwind/runs"' in page
    row = waiting(cast.support)
    answer = as_(cast.alice).post(path_of(row, "/decide"), {"type": "approve"})
    assert answer.status_code == 403
    assert "you are in none of its teams" in answer.content.decode()


def test_the_audit_link_is_for_who_may_read_it(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    assert f"/audit?run={row.run_id}" not in text(as_(cast.bob), f"/northwind/runs/{row.run_id}")
    assert f"/audit?run={row.run_id}" in text(as_(cast.carol), f"/northwind/runs/{row.run_id}")


def test_who_is_in_no_team_is_told_so(cast: Cast, as_: As) -> None:
    newcomer = member("frank", workspace=cast.workspace, role="reviewer")
    page = text(as_(newcomer), "/northwind/runs")
    assert "You are in no team" in page
    assert "No runs yet" not in page
    assert "No runs yet" in text(as_(cast.bob), "/northwind/runs")


def test_what_ends_access_takes_a_second_step(cast: Cast, as_: As) -> None:
    agent_of(cast.support)
    key = AgentKey.objects.get()
    page = text(as_(cast.alice), "/northwind/agents")
    for deed in ("rotate", "revoke"):
        before = page.split(f"/keys/{key.pk}/{deed}")[0]
        assert "…</summary>" in before[-200:]
        assert "ends at once" in page.split(f"/keys/{key.pk}/{deed}")[1].split("</form>")[0]
    page = text(as_(cast.alice), "/northwind/people")
    step = page.split(f"/people/{cast.bob.pk}/disable")[0]
    assert step.rstrip().endswith('<form class="stack stack--s" method="post" action="/northwind')
    assert ">Disable…</summary>" in step[-200:]


def test_a_hosted_agent_needs_no_key(cast: Cast, as_: As) -> None:
    Agent.objects.create(
        workspace=cast.workspace, team=cast.support, name="inside", runner="hosted", graph="demo"
    )
    page = text(as_(cast.alice), "/northwind/agents")
    assert "needs no key" in page
    assert "the agent cannot ask" not in page


def test_a_filtered_list_does_not_claim_to_begin_the_log(cast: Cast, as_: As) -> None:
    agent_of(cast.support).run()
    assert "The beginning of the log" in text(as_(cast.alice), "/northwind/audit")
    page = text(as_(cast.alice), "/northwind/audit?kind=run.started")
    assert "The beginning of the log" not in page
    assert "No older entry fits" in page


def test_the_timeline_counts_what_waits(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    run = agent.run()["id"]
    agent.pause(run, *(call(call_id=f"c{at}") for at in range(3))).ok()
    assert 'Waits <span class="num">×3</span>' in text(as_(cast.bob), f"/northwind/runs/{run}")


def test_a_conversation_in_a_state_is_a_conversation(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    run = agent.run()["id"]
    said = [{"role": "user", "content": f"Message {at}"} for at in range(20)]
    state = {"messages": said, "order": "8812"}
    agent.pause(run, call(), checkpoint={"state": state}).ok()
    page = text(as_(cast.bob), f"/northwind/runs/{run}")
    talk = page.split('<ol class="talk">')[1].split("</ol>")[0]
    assert "Message 19" in talk
    assert "Message 0<" not in talk
    assert "12 earlier ones below" in page
    stored = page.split("as they are stored")[1].split("</section>")[0]
    assert "messages/0/content" in stored
    assert "messages/" not in page.split("Everything else")[1]
    assert "8812" in page.split("Everything else")[1]


def test_a_value_that_is_cut_at_a_space_is_not_odd() -> None:
    cut = text_row("/x", "word " * 400 + "end")
    assert cut.is_cut
    assert cut.flags == ()
    assert text_row("/x", "word " * 400).flags == ("In the part not shown: Starts or ends with a space.",)


def test_what_else_waits_at_the_same_stop_is_said(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    agent.pause(agent.run()["id"], call(call_id="a"), call(call_id="b")).ok()
    for row, words in zip(
        ReviewRequest.objects.order_by("number"), ("1 more call waits", "goes on from here"), strict=True
    ):
        client = as_(cast.bob)
        run = text(client, f"/northwind/runs/{row.run_id}")
        assert ("2 requests wait" if "waits" in words else f"Request #{row.number}") in run
        assert f'href="/northwind/requests/{row.number}"' in run
        send(client, row, "reject", message="Not this one")
        shown = get(client, row)
        assert words in shown
        panel = shown.split('id="outcome"')[1].split("</aside>")[0]
        assert ("The agent waits for 1 more call" in panel) == ("waits" in words), "the panel says the same"
        assert ("The agent goes on without it" in panel) == ("goes on" in words)


def test_long_claims_show_a_head_and_lead_to_the_rest(cast: Cast, as_: As) -> None:
    claims = {"reason": "r" * 59_990 + "END", "evidence": [{"title": "t", "text": "e" * 5000 + "LAST"}]}
    row = waiting(cast.support, claims=claims)
    page = get(as_(cast.bob), row)
    assert "r" * 1000 not in page
    assert "59,293 more characters" in page
    assert "LAST" in page
    for sheet in (1, 3):
        assert "not verified" in get(as_(cast.bob), row, f"/value?of=claims&path=/reason&sheet={sheet}")
    assert "END" in get(as_(cast.bob), row, "/value?of=claims&path=/reason&sheet=3")
    assert as_(cast.bob).get(path_of(row, "/value?of=claims&path=/nothing")).status_code == 404


@pytest.mark.parametrize("word", ["\u202e", "a\u0430", "x  ", "a\t"])
def test_tens_of_thousands_of_odd_characters_stay_few_elements(word: str) -> None:
    drawn = str(hostile(word * 20_000))
    assert drawn.count("<span") < 1000
    assert len(drawn) < 700_000
    if not word.isascii():
        assert "U+202E" in drawn or "U+0430" in drawn
        assert "\u202e" not in drawn


def test_a_warning_has_no_check_mark(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    ToolCall.objects.filter(pk=row.tool_call_id).update(state="waiting")
    client = as_(cast.alice)
    page = client.post(f"/northwind/people/{cast.bob.pk}/disable", follow=True).content.decode()
    banner = page.split("banner--warn")[1].split("</div>")[0]
    assert "#i-warn" in banner
    assert ReviewRequest.objects.get(pk=row.pk).state == "pending"
