"""B44: under four eyes nobody signs off what is their own, on no path; rejecting is always possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reviewhub.accounts.models import Agent, AgentKey
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.runs.models import Run
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy
from tests.web.test_review import form_of

EYES = {"name": "Eyes", "tool": "*", "action": "require", "four_eyes": True}
CHANGE = [{"op": "set", "path": "/amount", "value": "7.50"}]


def owns_the_agent(cast: Cast) -> None:
    Agent.objects.update(owner=cast.bob)


def made_the_key(cast: Cast) -> None:
    AgentKey.objects.update(made_by=cast.bob)


def started_the_run(cast: Cast) -> None:
    Run.objects.update(started_by=cast.bob)


def is_acted_for(cast: Cast) -> None:
    Run.objects.update(on_behalf_of=cast.bob.person.email.upper())


OWN = [owns_the_agent, made_the_key, started_the_run, is_acted_for]


@pytest.fixture(params=[{}, {"approvals": 2}], ids=["one", "two"])
def waiting(request: pytest.FixtureRequest, cast: Cast, agent: AgentHttp) -> Any:
    policy(cast.support, {**EYES, **request.param})
    return agent.pause(agent.run()["id"], call("refund")).ok(201)["tool_calls"][0]


@pytest.mark.parametrize("own", OWN)
def test_b44_nobody_signs_off_their_own_on_any_path(
    cast: Cast, reviewer: PersonHttp, tool: Exec, waiting: Any, own: Callable[[Cast], None]
) -> None:
    own(cast)
    for type_, fields in (("approve", {}), ("edit", {"changes": CHANGE}), ("respond", {"value": "yes"})):
        refused = reviewer.decide(waiting, type_, **fields)
        assert (refused.status, refused.code) == (403, "forbidden"), type_
    entry = {
        "request": waiting["request"]["id"],
        "type": "approve",
        "version": 1,
        "digest": waiting["digest"],
    }
    several = reviewer.post("/requests/decide", {"decisions": [entry]})
    assert [one["status"] for one in several.json["results"]] == [403]
    address = f"/{cast.workspace.slug}/requests/{waiting['request']['number']}"
    form = form_of(reviewer.client.get(f"{address}?mode=approve").content.decode()) | {
        "type": "approve", "version": "1", "digest": waiting["digest"], "sure": waiting["digest"],
    }  # fmt: skip
    assert reviewer.client.post(f"{address}/decide", form).status_code == 403
    pick = f"{waiting['request']['number']}:1:{waiting['digest']}"
    reviewer.client.post(
        f"/{cast.workspace.slug}/queue/bulk/send", {"pick": pick, "type": "approve", "key": "k"}
    )
    assert ReviewRequest.objects.get().state == "pending" and not Review.objects.exists()
    assert not tool.attempt(waiting)
    reviewer.decide(waiting, "reject", message="not mine to allow").ok()
    assert ReviewRequest.objects.get().state == "rejected"


def test_b44_who_edited_it_does_not_approve_it(
    cast: Cast, reviewer: PersonHttp, admin: PersonHttp, tool: Exec, waiting: Any
) -> None:
    reviewer.decide(waiting, "edit", changes=CHANGE).ok()
    row = ReviewRequest.objects.get()
    now = {**waiting, "version": row.version, "digest": row.digest}
    again = reviewer.decide(now, "approve")
    assert again.status in (403, 409) and again.code in ("forbidden", "already_voted")
    assert ReviewRequest.objects.get().state == "pending"
    assert not tool.attempt(waiting)


def test_b44_two_approvals_are_of_two_people(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    policy(cast.support, {**EYES, "approvals": 2})
    (waiting,) = agent.pause(agent.run()["id"], call("refund")).ok(201)["tool_calls"]
    reviewer.decide(waiting, "approve").ok()
    assert reviewer.decide(waiting, "approve").code == "already_voted"
    assert ReviewRequest.objects.get().state == "pending"
    cast.dave.teams.add(cast.support)
    PersonHttp(cast.dave).decide(waiting, "approve").ok()
    assert tool.attempt(waiting)


def test_b44_an_agents_key_decides_nothing(agent: AgentHttp, waiting: Any) -> None:
    body = {"type": "approve", "version": 1, "digest": waiting["digest"]}
    assert agent.post(f"/requests/{waiting['request']['id']}/decide", body).status in (401, 403, 404)
    assert ReviewRequest.objects.get().state == "pending"
