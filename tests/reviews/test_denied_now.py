"""A call that waits while a policy is published that denies it: no approval of it is taken, and everybody is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.policies.known_tools import remember
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.reading import parse_policy
from reviewhub.reviews import decide as deciding
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.toolcalls.models import Decision, ToolCall
from reviewhub.tools.models import Tool
from tests.cast import Cast, member
from tests.driver import AgentHttp, PersonHttp, agent_of, call

pytestmark = pytest.mark.django_db
ASKS = {"name": "Asks", "tool": "refund", "action": "require"}
DENIES = {
    "name": "Nothing large",
    "tool": "refund",
    "action": "deny",
    "when": [{"path": "amount", "test": "is_over", "value": 100}],
}


def policy(cast: Cast, *rules: dict[str, Any], **layers: Any) -> None:
    """Publishes these rules and what stands above them."""
    number = PolicyVersion.objects.filter(workspace=cast.workspace).count() + 1
    text = json.dumps({"rules": list(rules), **layers})
    made = PolicyVersion.objects.create(
        workspace=cast.workspace, number=number, rules=text, author_name="test"
    )
    remember(made, parse_policy(text))


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    made = agent_of(cast.support)
    made.put("/tools/refund", {"effect": "idempotent"}).ok()
    policy(cast, ASKS)
    return made


@pytest.fixture
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def held(agent: AgentHttp, amount: int = 500) -> dict[str, Any]:
    (found,) = agent.pause(agent.run()["id"], call(arguments={"amount": amount})).ok(201)["tool_calls"]
    assert found["state"] == "waiting"
    return dict(found)


def page(who: PersonHttp, asked: dict[str, Any], rest: str = "") -> str:
    return who.client.get(f"/northwind/requests/{asked['request']['number']}{rest}").content.decode()


def send(who: PersonHttp, asked: dict[str, Any], type_: str, **fields: str) -> Any:
    given = {"type": type_, "version": "1", "digest": asked["digest"], "key": "one", **fields}
    return who.client.post(f"/northwind/requests/{asked['request']['number']}/decide", given)


def test_an_approval_is_refused_and_nothing_of_it_is_kept(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    asked = held(agent)
    policy(cast, DENIES, ASKS)
    refused = bob.decide(asked, "approve")
    assert (refused.status, refused.code) == (409, "policy_changed")
    assert (refused.json["policy_version"], refused.json["rule"]) == (2, "Nothing large")
    assert "Policy v2 denies this call by now" in refused.json["detail"]
    assert "Nothing large" in refused.json["detail"]
    assert (Review.objects.count(), Decision.objects.count()) == (0, 0)
    assert ReviewRequest.objects.get().state == "pending"


def test_what_policy_denies_no_more_is_approved_as_ever(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    asked = held(agent)
    policy(cast, DENIES, ASKS)
    assert bob.decide(asked, "approve").status == 409
    policy(cast, ASKS)
    bob.decide(asked, "approve").ok()
    agent.consume(asked).ok()


def test_what_a_guardrail_denies_by_now_takes_no_first_of_two_votes(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    policy(cast, {**ASKS, "approvals": 2})
    asked = held(agent)
    policy(cast, {**ASKS, "approvals": 2}, guardrails=[DENIES])
    assert bob.decide(asked, "approve").code == "policy_changed"
    bob.decide(asked, "reject", message="Too much.").ok()
    assert ToolCall.objects.get().state == "denied"


def test_an_edit_to_what_policy_lets_through_is_the_way_out(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    asked = held(agent)
    policy(cast, DENIES, ASKS)

    def to(amount: int) -> list[dict[str, Any]]:
        return [{"op": "set", "path": "/amount", "value": amount}]

    refused = bob.decide(asked, "edit", changes=to(400))
    assert (refused.status, refused.code) == (422, "denied_by_policy")
    bob.decide(asked, "edit", changes=to(90)).ok()
    agent.consume(agent.get(f"/tool-calls/{asked['id']}").ok()).ok()


@pytest.mark.parametrize("type_", ["reject", "respond"])
def test_what_lets_nothing_run_stays_possible(
    agent: AgentHttp, bob: PersonHttp, cast: Cast, type_: str
) -> None:
    asked = held(agent)
    policy(cast, DENIES, ASKS)
    bob.post(f"/requests/{asked['request']['id']}/ask", {"text": "Why so much?"}).ok()
    fields = {"value": "no"} if type_ == "respond" else {"message": "Too much."}
    bob.decide(asked, type_, **fields).ok()


@pytest.mark.parametrize("type_", ["approve", "edit"])
def test_what_is_published_while_an_approval_is_on_its_way_counts(
    agent: AgentHttp, bob: PersonHttp, cast: Cast, monkeypatch: pytest.MonkeyPatch, type_: str
) -> None:
    asked, prepare, done = held(agent), deciding.prepare, []

    def slowly(**given: Any) -> Any:
        found = prepare(**given)
        if not done:
            done.append(policy(cast, DENIES, ASKS))
        return found

    monkeypatch.setattr(deciding, "prepare", slowly)
    changes = [{"op": "set", "path": "/amount", "value": 400}]
    refused = bob.decide(asked, type_, **({"changes": changes} if type_ == "edit" else {}))
    assert refused.code == ("policy_changed" if type_ == "approve" else "denied_by_policy")
    assert ReviewRequest.objects.get().state == "pending"
    assert (Review.objects.count(), ToolCall.objects.get().version) == (0, 1)


def test_a_limit_that_denies_by_now_counts_too(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    asked = held(agent)
    most = {
        "name": "Money", "tool": "refund", "window_seconds": 3600, "sum_of": "amount", "most": 300, "then": "deny",
    }  # fmt: skip
    policy(cast, ASKS, limits=[most])
    refused = bob.decide(asked, "approve")
    assert (refused.code, refused.json["rule"]) == ("policy_changed", "Money")
    assert "Money" in page(bob, asked)


def test_the_page_says_so_before_anybody_decides(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    asked = held(agent)
    assert "denies this call by now" not in page(bob, asked)
    policy(cast, DENIES, ASKS)
    for rest in ("", "?mode=reject", "?mode=edit", "/live"):
        shown = page(bob, asked, rest)
        assert "Policy v2 denies this call by now" in shown
        assert "Nothing large" in shown
    shown = page(bob, asked)
    assert shown.index("denies this call by now") < shown.index('id="decide-form"')
    form = shown.split('id="decide-form"')[1].split("</form>")[0]
    assert "btn--ok" not in form
    assert "#decide-form" not in shown.split('id="act-m"')[1]
    assert "btn--ok" in page(bob, asked, "?mode=edit").split('id="decide-form"')[1].split("</form>")[0]


def test_the_page_refuses_an_approval_and_keeps_the_words(
    agent: AgentHttp, bob: PersonHttp, cast: Cast
) -> None:
    agent.put("/tools/refund", {"effect": "once"}).ok()
    asked = held(agent)
    policy(cast, DENIES, ASKS)
    for sure in ("", asked["digest"]):
        answer = send(bob, asked, "approve", sure=sure, message="Go on then.")
        shown = answer.content.decode()
        assert answer.status_code == 409
        assert "Policy v2 denies this call by now" in shown
        assert "Go on then." in shown
        assert "Approve and run" not in shown
    assert send(bob, asked, "reject", message="Too much.").status_code == 302


def test_in_a_list_it_is_left_out_with_the_reason(agent: AgentHttp, bob: PersonHttp, cast: Cast) -> None:
    Tool.objects.update(risk="low")
    policy(cast, ASKS)
    large, small = held(agent), held(agent, 50)
    policy(cast, DENIES, ASKS)
    picks = [f"{one['request']['number']}:1:{one['digest']}" for one in (large, small)]
    answer = bob.client.post("/northwind/queue/bulk/send", {"type": "approve", "pick": picks, "key": "k"})
    shown = answer.content.decode()
    assert "Policy v3 denies this call by now" in shown
    assert sorted(ReviewRequest.objects.values_list("state", flat=True)) == ["approved", "pending"]


def test_who_only_reads_is_told_as_well(agent: AgentHttp, cast: Cast) -> None:
    asked = held(agent)
    policy(cast, DENIES, ASKS)
    assert "Policy v2 denies this call by now" in page(PersonHttp(cast.carol), asked)
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    PersonHttp(erin).decide(asked, "reject", message="No.").ok()
    assert "denies this call by now" not in page(PersonHttp(cast.carol), asked)
