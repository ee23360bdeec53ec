"""The policy pages: what a draft is warned of, where a new rule goes, and what a version changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from typing import Any

from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.core.clock import now
from reviewhub.policies.models import PolicyVersion
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import policy
from tests.web.make import agent_of
from tests.web.test_pages import rule_fields

As = Callable[[Member], Client]
EDIT, PUBLISH = "/northwind/policy/edit", "/northwind/policy/publish"
ALL = {"name": "All the rest", "tool": "*", "action": "require", "approvals": 1}
REFUNDS = {"name": "Refunds", "tool": "refund", "action": "allow"}


def get(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def send(client: Client, page: str, button: str, **fields: Any) -> str:
    sent = client.post(PUBLISH, {**rule_fields(page), **fields, "do": button})
    return unescape(sent.content.decode())


def test_a_new_rule_goes_where_it_can_match_and_is_gone_to(cast: Cast, as_: As) -> None:
    policy(cast.support, REFUNDS, ALL)
    client = as_(cast.alice)
    page = send(client, get(client, EDIT), "add")
    fields = rule_fields(page)
    assert [fields[f"r{at}-name"] for at in range(3)] == ["Refunds", "", "All the rest"]
    (focused,) = [tag for tag in page.split("<input") if " autofocus" in tag.partition(">")[0]]
    assert 'name="r1-name"' in focused
    assert "note--bad" not in page, "an empty rule is no mistake yet"
    assert "note--bad" in send(client, page, "check")


def test_a_rule_that_lets_unregistered_tools_run_is_warned_of(cast: Cast, as_: As) -> None:
    policy(cast.support, REFUNDS)
    client = as_(cast.alice)
    warning = "No registered tool is called refund, so nothing runs by it."
    assert warning in get(client, EDIT) and warning in get(client, "/northwind/policy")
    Tool.objects.create(workspace=cast.workspace, agent=agent_of(cast.support), name="refund")
    assert warning in get(client, "/northwind/policy"), "seen is not registered"
    Tool.objects.filter(name="refund").update(registered_at=now())
    assert warning not in get(client, EDIT) and warning not in get(client, "/northwind/policy")


def test_more_approvals_than_people_are_warned_of(cast: Cast, as_: As) -> None:
    agent_of(cast.support)
    policy(cast.support, {**ALL, "approvals": 2})
    client = as_(cast.alice)
    assert "It asks for 2 approvals, but Support has one person who can decide." in get(client, EDIT)
    cast.dave.teams.add(cast.support)
    assert "It asks for" not in get(client, EDIT)


def test_a_note_is_needed(cast: Cast, as_: As) -> None:
    policy(cast.support, ALL)
    client = as_(cast.alice)
    page = get(client, EDIT)
    assert "Say what changes and why." in send(client, page, "publish", note=" ")
    assert PolicyVersion.objects.count() == 1


def test_what_a_version_changed_is_shown(cast: Cast, as_: As) -> None:
    reads = {"name": "Reads", "tool": "*.get", "action": "allow"}
    deny = {"name": "Old", "tool": "x", "action": "deny"}
    policy(cast.support, REFUNDS, reads, deny, ALL)
    policy(cast.support, reads, REFUNDS, {**ALL, "approvals": 2, "deadline_seconds": 900})
    client = as_(cast.bob)
    assert "What v1 changed" not in get(client, "/northwind/policy/1")
    page = get(client, "/northwind/policy/2").split("What v2 changed")[1].split("</section>")[0]
    assert page.count("Moved") == 2 and "Removed" in page and "Old" in page and "Added" not in page
    assert "approvals: 1 → 2" in page and "deadline: none → 15 m" in page


def test_a_deadline_that_is_none_is_said_in_words(cast: Cast, as_: As) -> None:
    policy(cast.support, {**ALL, "name": "Rule 1"})
    client = as_(cast.alice)
    for odd in ("0", "900 d"):
        page = send(client, get(client, EDIT), "publish", note="why", **{"r0-deadline": odd})
        assert "Rule 1, deadline: Write a time of at least 1 s and at most 366 d." in page
    page = send(client, get(client, EDIT), "publish", note="why", **{"r0-approvals": "0"})
    assert "Rule 1, approvals: Should be at least 1." in page


def test_a_draft_is_guarded_and_answers_are_called_answers(cast: Cast, as_: As) -> None:
    policy(cast.support, ALL)
    client = as_(cast.alice)
    page = get(client, EDIT)
    assert "data-guard" in page and "data-dirty" not in page and "Respond" not in page
    assert "data-dirty" in send(client, page, "check")
    assert json.loads(PolicyVersion.objects.get().rules)
