"""Runs, audit log, policy, people, agents, tools and bulk decisions through HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from reviewhub.accounts.models import Agent, AgentKey, Member, Team
from reviewhub.audit.models import Event
from reviewhub.policies.models import PolicyVersion
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import CallVersion
from reviewhub.tools.models import Tool
from tests.cast import PASSWORD, Cast
from tests.driver import agent_of, call
from tests.web.make import waiting

As = Callable[[Member], Client]
PATHS = ("queue", "runs", "audit", "policy", "policy/edit", "people", "agents", "tools")


def text(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.content.decode()[:600]
    return answer.content.decode()


@pytest.mark.parametrize("is_empty", [True, False])
def test_no_page_has_inline_script_or_style_and_every_asset_is_there(
    cast: Cast, as_: As, is_empty: bool
) -> None:
    client = as_(cast.alice)
    paths = [f"/northwind/{path}" for path in PATHS] + ["/account", "/northwind/nothing"]
    if not is_empty:
        row = waiting(cast.support, claims={"reason": "x"})
        paths += [f"/northwind/requests/{row.number}", f"/northwind/runs/{row.run_id}"]
    assets: set[str] = set()
    for page in [Client().get("/signin"), *(client.get(path) for path in paths)]:
        body = page.content.decode()
        assert "'unsafe" not in page.headers["Content-Security-Policy"]
        assert not re.search(
            r"<[^>]+\sstyle=|<style|<[^>]+\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:", body
        )
        assert not re.search(r"(?:src|href)=\"https?://", body)
        assets |= set(re.findall(r'(?:src|href)="(/static/[^"]+)"', body))
    assert len(assets) >= 5
    for address in assets:
        assert finders.find(address.removeprefix("/static/")), address


def test_bulk_names_each_request_and_decides_each(cast: Cast, as_: As) -> None:
    rows = [waiting(cast.support, risk="low", tool="crm.add_credit") for _ in range(3)]
    client = as_(cast.bob)
    picks = re.findall(r'name="pick" value="([^"]+)"', text(client, "/northwind/queue"))
    page = client.post("/northwind/queue/bulk", {"pick": picks, "type": "approve"}).content.decode()
    assert all(f"#{row.number}" in page for row in rows)
    assert {row.state for row in ReviewRequest.objects.all()} == {"pending"}
    key = re.findall(r'name="key" value="([^"]+)"', page)[0]
    ReviewRequest.objects.filter(pk=rows[1].pk).update(version=2)
    changed = CallVersion.objects.get(tool_call_id=rows[1].tool_call_id)
    changed.pk, changed.version = None, 2
    changed.save()
    done = client.post(
        "/northwind/queue/bulk/send", {"pick": picks, "type": "approve", "key": key}
    ).content.decode()
    assert "2 of 3 decided" in done
    assert sorted(row.state for row in ReviewRequest.objects.all()) == ["approved", "approved", "pending"]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"tool": "other.tool", "risk": "low"}, "one tool"),
        ({"tool": "crm.add_credit", "risk": "high"}, "low risk"),
    ],
)
def test_bulk_approval_is_for_low_risk_and_one_tool(
    cast: Cast, as_: As, second: dict[str, str], said: str
) -> None:
    waiting(cast.support, risk="low", tool="crm.add_credit")
    waiting(cast.support, **second)
    client = as_(cast.bob)
    picks = re.findall(r'name="pick" value="([^"]+)"', text(client, "/northwind/queue"))
    for path in ("bulk", "bulk/send"):
        answer = client.post(f"/northwind/queue/{path}", {"pick": picks, "type": "approve", "key": "k"})
        assert answer.status_code == 422
        assert said in answer.content.decode()
    assert {row.state for row in ReviewRequest.objects.all()} == {"pending"}


def test_b43_bulk_touches_nothing_of_other_teams(cast: Cast, as_: As) -> None:
    ours, theirs = waiting(cast.support), waiting(cast.finance, agent="treasury")
    picks = [f"{row.number}:{row.version}:{row.digest}" for row in (ours, theirs)]
    body = {"pick": picks, "type": "reject", "message": "Not today", "key": "k"}
    as_(cast.bob).post("/northwind/queue/bulk/send", body)
    assert ReviewRequest.objects.get(pk=theirs.pk).state == "pending"
    assert ReviewRequest.objects.get(pk=ours.pk).state == "rejected"


def test_a_run_is_shown_with_its_checkpoint_state_and_calls(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    run = agent.run(title="Ticket <b>1</b>")
    agent.pause(
        run["id"],
        call(reason="why"),
        checkpoint={
            "state": {"messages": [{"role": "user", "content": "Hi \u202e there"}], "n": 9007199254740993}
        },
    ).ok()
    client = as_(cast.bob)
    assert "Ticket &lt;b&gt;1&lt;/b&gt;" in text(client, "/northwind/runs")
    page = text(client, f"/northwind/runs/{run['id']}")
    assert "9007199254740993" in page
    assert "U+202E" in page
    assert "refund" in page
    row = ReviewRequest.objects.get()
    assert "U+202E" in text(client, f"/northwind/requests/{row.number}")
    cancelled = client.post(f"/northwind/runs/{run['id']}/cancel", {"reason": "Wrong customer"})
    assert cancelled.status_code == 302
    assert ReviewRequest.objects.get().state == "cancelled"
    late = client.post(
        f"/northwind/requests/{row.number}/decide",
        {"type": "reject", "version": "1", "digest": row.digest, "key": "k", "message": "too late"},
    )
    assert late.status_code == 409


def test_a_checkpoint_is_forked(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    run = agent.run(title="T")
    agent.pause(run["id"], call()).ok()
    client = as_(cast.bob)
    checkpoint = re.findall(
        r"/checkpoints/([0-9a-f-]{36})/fork", text(client, f"/northwind/runs/{run['id']}")
    )[0]
    answer = client.post(
        f"/northwind/checkpoints/{checkpoint}/fork", {"reason": "Another way", "key": "form-1"}
    )
    assert answer.status_code == 302, answer.content.decode()[:400]
    assert "Another way" in text(client, answer.headers["Location"])


def test_the_audit_log_filters_and_opens_an_entry(cast: Cast, as_: As) -> None:
    as_(cast.alice).post("/northwind/people/teams", {"name": "Night shift"})
    client = as_(cast.carol)
    assert "Night shift" in text(client, "/northwind/audit")
    assert "made the team Night shift" not in text(client, "/northwind/audit?kind=policy.published")
    assert "Night shift" in text(client, "/northwind/audit?q=night&actor=person&since=2020-01-01")
    event = Event.objects.get(kind="team.made")
    assert bytes(event.leaf).hex() in text(client, f"/northwind/audit?event={event.pk}")
    text(client, "/northwind/audit?event=999999", 404)
    text(client, "/northwind/audit?event=x", 404)
    assert client.get("/northwind/audit?before=x&since=x&who=x&run=x").status_code == 200


def test_mallorys_events_are_not_there(cast: Cast, as_: As) -> None:
    as_(cast.mallory).post("/contoso/people/teams", {"name": "Secret team"})
    event = Event.objects.get(kind="team.made")
    client = as_(cast.alice)
    assert "Secret team" not in text(client, "/northwind/audit")
    text(client, f"/northwind/audit?event={event.pk}", 404)


def rule_fields(page: str) -> dict[str, object]:
    """The editor's fields as a browser without script would send them."""
    found: dict[str, object] = {}
    for tag in re.findall(r"<input[^>]*>", page.split('id="policy-form"')[1]):
        name = re.search(r'name="([^"]*)"', tag)
        if name is None or ("checkbox" in tag and " checked" not in tag):
            continue
        value = unescape((re.search(r'value="([^"]*)"', tag) or ["", ""])[1])
        if name[1].endswith("-allowed"):
            found.setdefault(name[1], [])
            found[name[1]].append(value)  # type: ignore[attr-defined]
        else:
            found[name[1]] = value
    for name, options in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', page, re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        first = re.search(r'<option value="([^"]*)"', options)
        found[name] = unescape((chosen or first or ["", ""])[1])
    return found


def test_a_policy_is_written_moved_and_published_without_script(cast: Cast, as_: As) -> None:
    client = as_(cast.alice)
    page = text(client, "/northwind/policy/edit")
    for _ in range(2):
        page = client.post("/northwind/policy/publish", {**rule_fields(page), "do": "add"}).content.decode()
    fields = rule_fields(page)
    fields |= {
        "r0-name": "Reads", "r0-tool": "*.get", "r0-action": "allow",
        "r1-name": "Refunds", "r1-tool": "refund", "r1-team": "Support", "r1-approvals": "2", "r1-deadline": "15 m",
        "r1-allowed": ["approve", "reject"], "r1-four_eyes": "1",
    }  # fmt: skip
    page = client.post("/northwind/policy/publish", {**fields, "do": "up-1"}).content.decode()
    assert page.index('value="Refunds"') < page.index('value="Reads"')
    assert PolicyVersion.objects.count() == 0
    answer = client.post("/northwind/policy/publish", {**rule_fields(page), "note": "First", "do": "publish"})
    assert answer.status_code == 302, answer.content.decode()[:3000]
    rules = PolicyVersion.objects.get().rules
    assert '"name":"Refunds"' in rules.split('"name":"Reads"')[0]
    assert '"deadline_seconds":900' in rules
    assert '"four_eyes":true' in rules
    shown = text(client, "/northwind/policy")
    assert "2 from <bdi>Support" in shown
    assert "v1 in force" in shown
    assert "within 15 m" in text(as_(cast.bob), "/northwind/policy/1")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"r0-approvals": "x"}, "whole number"),
        ({"r0-deadline": "soon"}, "15 m, 2 h"),
        ({"r0-tool": ""}, "tool"),
        ({"r0-team": "Nobody"}, "no team"),
        ({"r0-allowed": []}, "allowed decisions"),
        ({"r0-action": "explode"}, "action"),
    ],
)
def test_a_wrong_rule_is_named_and_the_draft_kept(
    cast: Cast, as_: As, changed: dict[str, object], said: str
) -> None:
    client = as_(cast.alice)
    page = client.post("/northwind/policy/publish", {"count": "0", "base": "0", "do": "add"}).content.decode()
    given = {"r0-name": "Mine", "r0-tool": "*", "note": "why"}
    fields = {**rule_fields(page), **given, **changed, "do": "publish"}
    answer = client.post("/northwind/policy/publish", fields)
    body = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert said in body
    assert "Rule 1 (Mine)" in body
    assert PolicyVersion.objects.count() == 0


def test_two_admins_do_not_overwrite_each_other(cast: Cast, as_: As) -> None:
    client = as_(cast.alice)
    page = client.post("/northwind/policy/publish", {"count": "0", "base": "0", "do": "add"}).content.decode()
    fields = {**rule_fields(page), "r0-name": "All", "r0-tool": "*", "note": "why", "do": "publish"}
    assert client.post("/northwind/policy/publish", fields).status_code == 302
    answer = client.post("/northwind/policy/publish", {**fields, "note": "Mine"})
    assert answer.status_code == 409
    assert "published v1 meanwhile" in answer.content.decode()
    assert 'value="Mine"' in answer.content.decode()


def test_a_draft_is_tried_on_a_sample_call(cast: Cast, as_: As) -> None:
    waiting(cast.support, tool="refund")
    client = as_(cast.alice)
    page = client.post("/northwind/policy/publish", {"count": "0", "base": "0", "do": "add"}).content.decode()
    fields = {**rule_fields(page), "r0-name": "All", "r0-tool": "*"}
    fields |= {"try-tool": "refund", "try-arguments": '{"a":1}', "do": "try"}
    body = client.post("/northwind/policy/publish", fields).content.decode()
    assert ">require<" in body
    assert PolicyVersion.objects.count() == 0


def test_somebody_is_invited_signs_in_and_is_disabled(cast: Cast, as_: As) -> None:
    admin = as_(cast.alice)
    body = {
        "name": "Erin <i>",
        "email": "erin@example.com",
        "role": "reviewer",
        "teams": [str(cast.support.pk)],
    }
    page = admin.post("/northwind/people/invite", body).content.decode()
    password = unescape(page.split('class="once"><code>')[1].split("<")[0])
    assert "Erin &lt;i&gt;" in page
    erin = Client()
    assert (
        erin.post("/signin", {"email": "erin@example.com", "password": password}).headers["Location"]
        == "/account"
    )
    erin.post("/account/password", {"old": password, "new": PASSWORD, "again": PASSWORD})
    assert erin.get("/northwind/queue").status_code == 200
    member = Member.objects.get(person__email="erin@example.com")
    assert password not in text(admin, "/northwind/people")
    admin.post(f"/northwind/people/{member.pk}/disable")
    assert erin.get("/northwind/queue").status_code == 302
    admin.post(f"/northwind/people/{member.pk}/enable")
    changed = admin.post(f"/northwind/people/{member.pk}/change", {"role": "manager"})
    assert changed.status_code == 302
    member.refresh_from_db()
    assert (member.role, member.is_active, member.teams.count()) == ("manager", True, 0)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "X", "email": "no", "role": "reviewer"},
        {"name": "X", "email": "x@example.com", "role": "owner"},
        {"name": "", "email": "x@example.com", "role": "reviewer"},
        {"name": "X", "email": "bob@example.com", "role": "reviewer"},
        {"name": "X", "email": "x@example.com", "role": "reviewer", "teams": "x"},
    ],
)
def test_a_wrong_invitation_invites_nobody(cast: Cast, as_: As, body: dict[str, str]) -> None:
    before = Member.objects.count()
    assert as_(cast.alice).post("/northwind/people/invite", body).status_code in (409, 422)
    assert Member.objects.count() == before


def test_the_last_admin_stays(cast: Cast, as_: As) -> None:
    answer = as_(cast.alice).post(f"/northwind/people/{cast.alice.pk}/disable")
    assert answer.status_code in (409, 422)
    assert Member.objects.get(pk=cast.alice.pk).is_active


def test_another_workspaces_team_cannot_be_given(cast: Cast, as_: As) -> None:
    theirs = Team.objects.get(workspace=cast.other)
    body = {"role": "reviewer", "teams": [str(theirs.pk)]}
    assert as_(cast.alice).post(f"/northwind/people/{cast.bob.pk}/change", body).status_code == 422
    assert list(cast.bob.teams.all()) == [cast.support]


def test_an_agent_is_registered_gets_keys_and_is_stopped(cast: Cast, as_: As) -> None:
    client = as_(cast.alice)
    client.post("/northwind/agents/new", {"name": "Shop bot", "team": str(cast.support.pk)})
    agent = Agent.objects.get(name="Shop bot")
    page = client.post(
        f"/northwind/agents/{agent.pk}/keys", {"name": "main", "environment": "staging"}
    ).content.decode()
    key_text = page.split('class="once"><code>')[1].split("<")[0]
    assert key_text.startswith("rh_sta_")
    key = AgentKey.objects.get(agent=agent)
    assert key_text not in text(client, "/northwind/agents")
    page = client.post(f"/northwind/keys/{key.pk}/rotate").content.decode()
    assert "rh_sta_" in page
    assert client.post(f"/northwind/keys/{key.pk}/revoke").status_code == 409
    assert client.post(f"/northwind/agents/{agent.pk}/stop", {"reason": ""}).status_code == 422
    assert client.post(f"/northwind/agents/{agent.pk}/stop", {"reason": "Runs wild"}).status_code == 302
    assert Agent.objects.get(pk=agent.pk).stopped_at is not None
    assert "Stopped" in text(client, "/northwind/agents")


def test_sentence_and_risk_of_a_tool(cast: Cast, as_: As) -> None:
    waiting(cast.support)
    tool = Tool.objects.get()
    client = as_(cast.alice)
    bad = client.post(f"/northwind/tools/{tool.pk}/change", {"sentence": "Refund {amount", "risk": "low"})
    assert bad.status_code == 422
    tool.refresh_from_db()
    assert (tool.sentence, tool.risk) == ("", "")
    client.post(
        f"/northwind/tools/{tool.pk}/change", {"sentence": "Refund ${amount:money}", "risk": "critical"}
    )
    tool.refresh_from_db()
    assert (tool.sentence, tool.risk) == ("Refund ${amount:money}", "critical")
    assert "Refund ${amount:money}" in text(as_(cast.bob), "/northwind/tools")
