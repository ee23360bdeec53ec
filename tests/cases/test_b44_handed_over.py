"""B44: who hands an agent over stays behind what it asked for before, on every path; and so does the new owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reviewhub.accounts.models import Agent, Member
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from tests.cases.conftest import Exec
from tests.cases.test_b44_own_calls import CHANGE, EYES
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy
from tests.web.test_review import form_of


def owned_by(member: Member) -> None:
    Agent.objects.update(owner=member)


def ask(agent: AgentHttp, run: str) -> Any:
    return agent.pause(run, call("refund")).ok(201)["tool_calls"][0]


def after_the_call(cast: Cast, agent: AgentHttp) -> Any:
    owned_by(cast.bob)
    waiting = ask(agent, agent.run()["id"])
    owned_by(cast.dave)
    return waiting


def once_the_run_had_begun(cast: Cast, agent: AgentHttp) -> Any:
    owned_by(cast.bob)
    run = agent.run()["id"]
    owned_by(cast.dave)
    return ask(agent, run)


def before_a_run_below_asked(cast: Cast, agent: AgentHttp) -> Any:
    owned_by(cast.bob)
    run = agent.run()["id"]
    owned_by(cast.dave)
    return ask(agent, agent.run(parent=agent.run(parent=run)["id"])["id"])


def and_took_it_over_later(cast: Cast, agent: AgentHttp) -> Any:
    owned_by(cast.dave)
    waiting = ask(agent, agent.run()["id"])
    owned_by(cast.bob)
    return waiting


HANDED = [after_the_call, once_the_run_had_begun, before_a_run_below_asked, and_took_it_over_later]


@pytest.mark.parametrize("handed", HANDED)
def test_b44_who_hands_an_agent_over_does_not_sign_off_its_calls(
    cast: Cast,
    agent: AgentHttp,
    reviewer: PersonHttp,
    tool: Exec,
    handed: Callable[[Cast, AgentHttp], Any],
) -> None:
    policy(cast.support, EYES)
    waiting = handed(cast, agent)
    for type_, fields in (("approve", {}), ("edit", {"changes": CHANGE}), ("respond", {"value": "yes"})):
        refused = reviewer.decide(waiting, type_, **fields)
        assert (refused.status, refused.code) == (403, "forbidden"), type_
    number, digest = waiting["request"]["number"], waiting["digest"]
    entry = {"request": waiting["request"]["id"], "type": "approve", "version": 1, "digest": digest}
    several = reviewer.post("/requests/decide", {"decisions": [entry]})
    assert [one["status"] for one in several.json["results"]] == [403]
    address = f"/{cast.workspace.slug}/requests/{number}"
    page = reviewer.client.get(f"{address}?mode=approve").content.decode()
    assert "Your answer would not be taken" in page
    form = form_of(page) | {"type": "approve", "version": "1", "digest": digest, "sure": digest}
    assert reviewer.client.post(f"{address}/decide", form).status_code == 403
    picked = {"pick": f"{number}:1:{digest}", "type": "approve", "key": "k"}
    reviewer.client.post(f"/{cast.workspace.slug}/queue/bulk/send", picked)
    queue = reviewer.client.get(f"/{cast.workspace.slug}/queue?me=1").content.decode()
    assert f"/requests/{number}" not in queue, "the list does not offer what is refused"
    assert ReviewRequest.objects.get().state == "pending"
    assert not Review.objects.exists()
    assert not tool.attempt(waiting)
    cast.alice.teams.add(cast.support)
    PersonHttp(cast.alice).decide(waiting, "approve").ok()
    assert tool.attempt(waiting)


@pytest.mark.parametrize("handed", HANDED[:3])
def test_b44_nor_does_the_one_who_has_it_now(
    cast: Cast, agent: AgentHttp, tool: Exec, handed: Callable[[Cast, AgentHttp], Any]
) -> None:
    policy(cast.support, EYES)
    cast.dave.teams.add(cast.support)
    waiting = handed(cast, agent)
    refused = PersonHttp(cast.dave).decide(waiting, "approve")
    assert (refused.status, refused.code) == (403, "forbidden")


def test_b44_nor_does_it_let_a_call_run_a_second_time(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp
) -> None:
    """Policy lets a call run, its outcome is lost, and by then the agent belongs to somebody else."""
    owned_by(cast.bob)
    run = agent.run()["id"]
    policy(cast.support, EYES)
    cast.alice.teams.add(cast.support)
    waiting = ask(agent, run)
    PersonHttp(cast.alice).decide(waiting, "approve").ok()
    agent.consume(waiting).ok()
    owned_by(cast.dave)
    Run.objects.update(agent_owned_by=None)
    agent.outcome(waiting, "unknown").ok()
    lost = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert reviewer.decide(lost, "did_not_happen").code == "forbidden"
    assert ToolCall.objects.get().agent_owned_by == cast.bob
    PersonHttp(cast.alice).decide(lost, "did_not_happen").ok()
