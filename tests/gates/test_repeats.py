"""One action, two branches of a run: what ran on one does not run on the other without a person who knows."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import Attempt, ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy
from tests.racing import together
from tests.shared import shared

ALLOW = {"name": "Refunds run", "tool": "refund", "action": "allow"}


@shared
def agent(cast: Cast) -> AgentHttp:
    made = agent_of(cast.support)
    made.put("/tools/refund", {"effect": "once"}).ok(200, 201)
    return made


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def forked(agent: AgentHttp) -> tuple[str, str]:
    """A run with the branches main and other, both at the same state."""
    run = agent.run()["id"]
    saved = agent.post(f"/runs/{run}/checkpoints", {"state": {"n": 0}}).ok(201)
    agent.post(f"/checkpoints/{saved['id']}/fork", {"branch": "other", "reason": "try again"}).ok(201)
    return run, "other"


def propose(agent: AgentHttp, run: str, branch: str = "main", **fields: Any) -> Any:
    reply = agent.post(f"/runs/{run}/pauses", {"branch": branch, "tool_calls": [call(**fields)]})
    return reply.ok(201)["tool_calls"][0]


def now(agent: AgentHttp, one: Any) -> Any:
    return agent.get(f"/tool-calls/{one['id']}").ok()


@pytest.mark.django_db
@pytest.mark.parametrize("again", ["10.00", "7.50"], ids=["as proposed", "as edited"])
def test_what_an_edit_made_of_it_is_still_the_same_action(
    agent: AgentHttp, bob: PersonHttp, cast: Cast, again: str
) -> None:
    run, other = forked(agent)
    first = propose(agent, run)
    bob.decide(first, "edit", changes=[{"op": "set", "path": "/amount", "value": "7.50"}]).ok()
    ran = now(agent, first)
    agent.consume(ran).ok()
    agent.outcome(ran).ok()
    policy(cast.support, ALLOW)
    second = propose(agent, run, other, arguments={"order": "8812", "amount": again})
    assert second["state"] == "waiting"
    assert "has run on branch main" in second["because"]["text"]
    row = ReviewRequest.objects.get(tool_call=second["id"])
    assert [str(pk) for pk in row.repeats.values_list("pk", flat=True)] == [first["id"]]
    page = bob.client.get(f"/northwind/requests/{row.number}").content.decode()
    assert "has run on branch main" in page
    assert f"/northwind/requests/{first['request']['number']}" in page
    bob.decide(second, "approve").ok()
    assert agent.consume(second).status == 200, "a person who knew said yes"


@pytest.mark.django_db
def test_another_amount_is_another_action(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    policy(cast.support, ALLOW)
    run, other = forked(agent)
    first = propose(agent, run)
    agent.consume(first).ok()
    agent.outcome(first).ok()
    second = propose(agent, run, other, arguments={"order": "8812", "amount": "11.00"})
    assert second["state"] == "allowed"


@pytest.mark.django_db
@pytest.mark.parametrize("again", ["100.0", "1e2", '"100"'])
def test_another_spelling_of_the_amount_is_the_same_action(agent: AgentHttp, cast: Cast, again: str) -> None:
    policy(cast.support, ALLOW)
    run, other = forked(agent)
    raw = '{{"branch":"{}","tool_calls":[{{"tool":"refund","arguments":{{"amount":{}}}}}]}}'
    first = agent.post(f"/runs/{run}/pauses", raw=raw.format("main", "100").encode()).ok(201)["tool_calls"][0]
    agent.consume(first).ok()
    agent.outcome(first).ok()
    second = agent.post(f"/runs/{run}/pauses", raw=raw.format(other, again).encode()).ok(201)["tool_calls"][0]
    is_number = not again.startswith('"')
    assert (second["state"] == "waiting") == is_number, "a text is no number to any tool"


@pytest.mark.django_db
@pytest.mark.parametrize("by", ["policy", "person"])
def test_allowed_before_the_other_ran_it_is_asked_again(
    agent: AgentHttp, bob: PersonHttp, cast: Cast, by: str
) -> None:
    """Both branches have their yes; the second one was given before the first one's call ran."""
    policy(cast.support, ALLOW if by == "policy" else {**ALLOW, "action": "require"})
    run, other = forked(agent)
    first, second = propose(agent, run), propose(agent, run, other)
    if by == "person":
        bob.decide(first, "approve").ok()
        bob.decide(second, "approve").ok()
    agent.consume(first).ok()
    assert agent.consume(second).code == "not_allowed", "nobody knows yet whether the first one happens"
    agent.outcome(first).ok()
    assert agent.consume(second).code == "facts_changed"
    waiting = now(agent, second)
    assert waiting["state"] == "waiting"
    bob.decide(waiting, "approve").ok()
    agent.consume(waiting).ok()
    assert Attempt.objects.filter(tool_call__run=run).count() == 2


@pytest.mark.django_db
def test_an_edit_into_what_ran_is_asked_again(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    policy(cast.support, {**ALLOW, "action": "require"})
    run, other = forked(agent)
    first = propose(agent, run)
    bob.decide(first, "approve").ok()
    agent.consume(first).ok()
    agent.outcome(first).ok()
    second = propose(agent, run, other, arguments={"order": "8812", "amount": "11.00"})
    bob.decide(second, "edit", changes=[{"op": "set", "path": "/amount", "value": "10.00"}]).ok()
    assert agent.consume(now(agent, second)).code == "facts_changed"
    assert now(agent, second)["state"] == "waiting"


@pytest.mark.django_db(transaction=True)
def test_two_branches_do_not_start_the_same_at_once(agent: AgentHttp, cast: Cast) -> None:
    policy(cast.support, ALLOW)
    for _ in range(10):
        run, other = forked(agent)
        one, two = propose(agent, run), propose(agent, run, other)
        twin = AgentHttp(token=agent.token)
        replies = together(lambda: agent.consume(one), lambda: twin.consume(two))  # noqa: B023
        assert sorted(reply.status for reply in replies) == [200, 409], replies
        assert ToolCall.objects.filter(run=run, state="started").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_pause_and_a_start_on_two_branches_meet(agent: AgentHttp, cast: Cast) -> None:
    """Whichever is first, the same action does not run twice without a person."""
    policy(cast.support, ALLOW)
    for _ in range(10):
        run, other = forked(agent)
        one = propose(agent, run)
        twin = AgentHttp(token=agent.token)

        def start() -> None:
            agent.consume(one).ok()  # noqa: B023
            agent.outcome(one).ok()  # noqa: B023

        _, two = together(start, lambda: propose(twin, run, other))  # noqa: B023
        assert twin.consume(two).code in ("not_allowed", "facts_changed")
        assert now(agent, two)["state"] == "waiting"
