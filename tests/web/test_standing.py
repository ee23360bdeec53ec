"""Approve and remember on the pages: the form, the step in between, the list, and the end."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from reviewhub.accounts.models import Member
from reviewhub.core.display import moments
from reviewhub.reviews.models import ReviewRequest
from reviewhub.standing.models import StandingApproval
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of, call, policy
from tests.web.make import standing_approval, waiting
from tests.web.test_review import form_of

As = Callable[[Member], Client]
HOSTILE = "<b onmouseover=x>\u202egnirts</b>"
SCHEMA = {
    "type": "object",
    "properties": {
        "order": {"type": "string"},
        "amount": {"type": "number"},
        "card": {"type": "string", "writeOnly": True},
    },
}


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    made = agent_of(cast.support)
    made.put("/tools/refund", {"effect": "once", "schema": SCHEMA}).ok()
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "require"})
    return made


def propose(agent: AgentHttp, amount: int) -> Any:
    arguments = {"order": "8812", "amount": amount, "card": "4111 secret"}
    return agent.pause(agent.run()["id"], call(arguments=arguments)).ok(201)["tool_calls"][0]


@pytest.mark.django_db
def test_from_the_form_over_the_list_to_its_end(agent: AgentHttp, cast: Cast, as_: As) -> None:
    row = ReviewRequest.objects.get(tool_call=propose(agent, 40)["id"])
    bob, here = as_(cast.bob), f"/northwind/requests/{row.number}"
    bob.cookies["zone"] = "Asia/Kolkata"
    page = unescape(bob.get(here).content.decode())
    assert "4111 secret" not in page, "what is secret is not suggested"
    form = form_of(page)
    assert (form["r-c0-path"], form["r-c0-value"]) == ("amount", "40")
    assert form["r-zone"] == "Asia/Kolkata" and "Until the end of" in page
    form |= {
        "remember": "1",
        "r-bounds": "within",
        "r-c0-test": "is_at_most",
        "r-uses": "x",
        "r-scope": "agent",
    }
    form = {name: value for name, value in form.items() if not name.startswith("r-c1")}
    wrong = bob.post(f"{here}/decide", form)
    assert (wrong.status_code, 'value="x"' in wrong.content.decode()) == (422, True)
    form["r-uses"] = "2"
    sure = bob.post(f"{here}/decide", form)
    between = unescape(sure.content.decode())
    assert "And calls like it run at once from now on" in between
    assert not StandingApproval.objects.exists()
    done = bob.post(f"{here}/decide", form_of(between), follow=True)
    assert "Calls that this covers run at once from now on" in done.content.decode()
    assert propose(agent, 39)["state"] == "allowed"
    assert propose(agent, 41)["state"] == "waiting"
    listed = unescape(as_(cast.carol).get("/northwind/standing-approvals").content.decode())
    assert "where amount is at most 40, in any run in production" in listed
    assert '<span class="num">1</span> of <span class="num">2</span>' in listed
    assert "Revoke…" not in listed, "a manager only looks"
    made = StandingApproval.objects.get()
    with timezone.override(ZoneInfo("Asia/Kolkata")):
        assert moments.exact(made.until).split(", ")[1] == "23:59:59 UTC+5:30", (
            "the end of the day that was typed"
        )
    end = f"/northwind/standing-approvals/{made.pk}/revoke"
    assert bob.post(end, {"reason": " "}).status_code == 422
    assert bob.post(end, {"reason": HOSTILE}).status_code == 302
    assert propose(agent, 39)["state"] == "waiting"
    assert "No approval stands" in bob.get("/northwind/standing-approvals").content.decode()
    ended = bob.get("/northwind/standing-approvals?all=1").content.decode()
    assert "Revoked by" in ended
    assert HOSTILE not in ended


@pytest.mark.django_db
def test_the_form_is_there_only_where_it_can_be(agent: AgentHttp, cast: Cast, as_: As) -> None:
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "require", "approvals": 2})
    row = ReviewRequest.objects.get(tool_call=propose(agent, 40)["id"])
    assert 'name="remember"' not in as_(cast.bob).get(f"/northwind/requests/{row.number}").content.decode()


@pytest.mark.django_db
def test_many_are_read_page_by_page(cast: Cast, as_: As) -> None:
    for at in range(52):
        standing_approval(waiting(cast.support, agent=f"a{at % 3}"), cast.bob, bounds="{}", max_uses=at + 1)
    cast.bob.teams.clear()
    page = as_(cast.alice).get("/northwind/standing-approvals").content.decode()
    assert page.count('<li id="s-') == 50
    assert page.count("may not decide for this team any more") == 50
    more = unescape(page.split('href="/northwind/standing-approvals?cursor=')[1].split('"')[0])
    rest = as_(cast.alice).get(f"/northwind/standing-approvals?cursor={more}").content.decode()
    assert rest.count('<li id="s-') == 2
