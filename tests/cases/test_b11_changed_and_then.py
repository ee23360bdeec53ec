"""B11: who changes a call says no to it as it was, whatever becomes of what they made of it, on every branch."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.core import clock
from reviewhub.reviews.expire import expire
from reviewhub.reviews.models import ReviewRequest
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy

ORIGINAL = {"amount": 100, "to": "ACME"}
CHANGED = {"amount": 10, "to": "ACME"}
CUT = {"changes": [{"op": "set", "path": "/amount", "value": 10}], "message": "limit is 10"}
TWO = {"name": "Two", "tool": "transfer", "action": "require", "approvals": 2, "deadline_seconds": 600}
LETS_RUN = {"name": "Transfers", "tool": "transfer", "action": "allow"}
ENDS = ["reject", "respond", "expire", "let run by silence", "withdraw"]


@pytest.fixture
def changed(cast: Cast, agent: AgentHttp, reviewer: PersonHttp) -> Any:
    """A transfer that Bob cut down; one more person has to say yes. A branch stands beside main."""
    agent.put("/tools/transfer", {"effect": "once"}).ok(200, 201)
    policy(cast.support, TWO)
    run = agent.run()["id"]
    saved = agent.post(f"/runs/{run}/checkpoints", {"state": {"n": 0}}).ok(201)
    agent.post(f"/checkpoints/{saved['id']}/fork", {"branch": "other", "reason": "try again"}).ok(201)
    (asked,) = agent.pause(run, call("transfer", arguments=ORIGINAL)).ok(201)["tool_calls"]
    reviewer.decide(asked, "edit", **CUT).ok(200)
    assert ReviewRequest.objects.get().state == "pending"
    return agent.get(f"/tool-calls/{asked['id']}").ok()


def end(how: str, asked: Any, agent: AgentHttp, reviewer: PersonHttp) -> ReviewRequest:
    row = ReviewRequest.objects.get()
    if how in ("expire", "let run by silence"):
        silence = "allow" if how == "let run by silence" else "deny"
        ReviewRequest.objects.update(deadline_at=clock.now(), on_timeout=silence)
        assert expire(request_id=row.pk)
    elif how == "withdraw":
        agent.post(f"/tool-calls/{asked['id']}/withdraw").ok(200)
    else:
        value = {"value": "none needed"} if how == "respond" else {"message": "not at all"}
        reviewer.decide(asked, how, **value).ok(200)
    row.refresh_from_db()
    assert row.state != "pending"
    return row


def ask(agent: AgentHttp, branch: str, arguments: Any, run: Any) -> Any:
    body = {"branch": branch, "tool_calls": [call("transfer", "again", arguments=arguments)]}
    (asked,) = agent.post(f"/runs/{run}/pauses", body).ok(201)["tool_calls"]
    return asked


@pytest.mark.parametrize("branch", ["main", "other"])
@pytest.mark.parametrize("how", ENDS)
def test_b11_the_original_of_a_changed_call_is_linked_however_that_ended(
    agent: AgentHttp, reviewer: PersonHttp, changed: Any, how: str, branch: str
) -> None:
    first = end(how, changed, agent, reviewer)
    asked = ask(agent, branch, {"amount": 100.0, "to": "ACME"}, first.run_id)
    assert asked["state"] == "waiting"
    assert ReviewRequest.objects.latest("number").again_of == first


@pytest.mark.parametrize("branch", ["main", "other"])
@pytest.mark.parametrize("how", ENDS)
def test_b11_no_rule_lets_run_what_a_person_changed_however_that_ended(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec, changed: Any, how: str, branch: str
) -> None:
    first = end(how, changed, agent, reviewer)
    policy(cast.support, LETS_RUN)
    asked = ask(agent, branch, ORIGINAL, first.run_id)
    assert asked["state"] == "waiting"
    assert "Bob changed exactly this call (#1)." in asked["because"]["text"]
    assert not tool.attempt(asked)
    assert ReviewRequest.objects.latest("number").again_of == first


@pytest.mark.parametrize("how", ["expire", "let run by silence", "withdraw", "respond"])
def test_b11_who_only_spelled_a_number_otherwise_said_no_to_nothing(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, changed: Any, how: str
) -> None:
    """The last version is the first one again, in another spelling."""
    back = {"changes": [{"op": "set", "path": "/amount", "value": 100.0}], "message": "as it was"}
    reviewer.decide(changed, "edit", **back).ok(200)
    first = end(how, agent.get(f"/tool-calls/{changed['id']}").ok(), agent, reviewer)
    policy(cast.support, LETS_RUN)
    assert ask(agent, "other", ORIGINAL, first.run_id)["state"] == "allowed"


@pytest.mark.parametrize(
    ("how", "linked"), [("reject", True), ("expire", True), ("let run by silence", False)]
)
def test_b11_what_it_was_changed_to_is_linked_unless_it_was_let_run(
    agent: AgentHttp, reviewer: PersonHttp, changed: Any, how: str, linked: bool
) -> None:
    first = end(how, changed, agent, reviewer)
    ask(agent, "main", CHANGED, first.run_id)
    again = ReviewRequest.objects.latest("number")
    assert (again.pk != first.pk, again.again_of == first) == (True, linked)


def test_b11_a_yes_that_came_later_stands(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, changed: Any
) -> None:
    first = end("reject", changed, agent, reviewer)
    policy(cast.support, {"name": "One", "tool": "transfer", "action": "require"})
    reviewer.decide(ask(agent, "other", ORIGINAL, first.run_id), "approve").ok(200)
    policy(cast.support, LETS_RUN)
    body = {"tool_calls": [call("transfer", "and again", arguments=ORIGINAL)]}
    (asked,) = agent.post(f"/runs/{first.run_id}/pauses", body).ok(201)["tool_calls"]
    assert asked["state"] == "allowed"
