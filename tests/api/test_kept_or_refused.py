"""What an agent or a program sends is kept or refused, and never dropped with a friendly answer."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.hosting.models import Record
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


@shared
def run(agent: AgentHttp) -> Any:
    return agent.run()


def branch_of(run: Any) -> str:
    return f"/branches/{run['branches'][0]['id']}"


class TestStarting:
    def test_a_lost_answer_makes_no_second_run(self, agent: AgentHttp) -> None:
        first = agent.post("/runs", {"title": "Once"}, key="k").ok(201)
        again = agent.post("/runs", {"title": "Once"}, key="k")
        assert (again.status, again.json["id"], Run.objects.count()) == (200, first["id"], 1)

    def test_another_body_under_the_same_key_is_refused(self, agent: AgentHttp) -> None:
        agent.post("/runs", {"title": "Once"}, key="k").ok(201)
        assert agent.post("/runs", {"title": "Twice"}, key="k").code == "idempotency_conflict"
        assert Run.objects.count() == 1

    def test_keys_are_each_agents_own(self, agent: AgentHttp, cast: Cast) -> None:
        agent.post("/runs", {}, key="k").ok(201)
        agent_of(cast.support, "Other").post("/runs", {}, key="k").ok(201)
        assert Run.objects.count() == 2

    def test_an_external_id_under_another_key_finds_the_same_run(self, agent: AgentHttp) -> None:
        first = agent.post("/runs", {"external_id": "x"}, key="a").ok(201)
        for key in ("b", "b"):
            assert agent.post("/runs", {"external_id": "x"}, key=key).ok(200)["id"] == first["id"]

    def test_without_a_key_nothing_is_started(self, agent: AgentHttp) -> None:
        bare = {"Authorization": f"Bearer {agent.token}"}
        answer = agent.client.post("/api/v1/runs", b"{}", content_type="application/json", headers=bare)
        assert (answer.status_code, Run.objects.count()) == (422, 0)


class TestRecords:
    @pytest.mark.parametrize("length", [200, 201, 255])
    def test_every_key_that_is_kept_is_read_back(self, agent: AgentHttp, run: Any, length: int) -> None:
        path = f"{branch_of(run)}/records"
        agent.put(f"{path}/{'x' * length}", {"value": 1}).ok(201)
        assert agent.get(f"{path}/{'x' * length}").ok()["value"] == 1
        assert [one["key"] for one in agent.get(path).ok()["items"]] == ["x" * length]

    @pytest.mark.parametrize("key", ["x" * 256, "a%01b", "a%E2%80%8Bb", "a%E2%80%AEb"])
    def test_others_are_refused(self, agent: AgentHttp, run: Any, key: str) -> None:
        assert agent.put(f"{branch_of(run)}/records/{key}", {"value": 1}).status == 422
        assert not Record.objects.exists()


class TestTheEndAgain:
    @pytest.mark.parametrize(
        ("verb", "said", "other"),
        [
            ("finish", {"result": {"n": 1}}, {"result": {"n": 2}}),
            ("finish", {"result": 1}, {"result": 1, "checkpoint": {"state": {"n": 9}}}),
            ("fail", {"error": "x"}, {"error": "y"}),
        ],
    )
    def test_with_the_same_words_or_not_at_all(
        self, agent: AgentHttp, run: Any, verb: str, said: Any, other: Any
    ) -> None:
        end = f"{branch_of(run)}/{verb}"
        agent.post(end, said).ok(200)
        agent.post(end, said).ok(200)
        saved = Checkpoint.objects.count()
        assert agent.post(end, other).code == "ending_conflict"
        assert Checkpoint.objects.count() == saved

    def test_a_repeat_that_appends_is_a_repeat(self, agent: AgentHttp, run: Any) -> None:
        """Computed anew on the head that it has made it would be another state."""
        saved = agent.post(f"/runs/{run['id']}/checkpoints", {"state": {"log": [1]}}).ok(201)
        hints = {"append": {"log": [2]}, "parent": saved["id"], "parent_hash": saved["hash"]}
        said = {"result": 1, "checkpoint": hints}
        for _ in range(2):
            agent.post(f"{branch_of(run)}/finish", said).ok(200)
        assert Checkpoint.objects.count() == 2


@pytest.mark.parametrize(
    "until", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-23:59"], ids=["too early", "too late"]
)
def test_a_time_that_utc_has_not_is_refused(agent: AgentHttp, run: Any, until: str) -> None:
    answer = agent.post(f"{branch_of(run)}/sleep", {"until": until})
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "/until")


@pytest.mark.parametrize("extra", [{"checkpoint": {"state": {}}}, {"attempt": 7}])
def test_an_observed_call_brings_neither_state_nor_attempt(
    agent: AgentHttp, run: Any, extra: dict[str, Any]
) -> None:
    body = {"tool_calls": [{**call(), "outcome": {"status": "succeeded", **extra}}]}
    answer = agent.post(f"/runs/{run['id']}/observations", body)
    assert (answer.status, Checkpoint.objects.count()) == (422, 0)


def test_an_answer_says_something(agent: AgentHttp, bob: PersonHttp, run: Any) -> None:
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    asked = bob.post(f"/requests/{waiting['request']['id']}/ask", {"text": "Why?"}).ok(201)
    assert agent.post(f"/questions/{asked['id']}/answer", {"text": "  "}).status == 422
    agent.post(f"/questions/{asked['id']}/answer", {"text": "So."}).ok(200)


def test_limits_that_set_nothing_are_refused(bob: PersonHttp, run: Any) -> None:
    assert bob.post(f"/runs/{run['id']}/limits", {"reason": "r"}).status == 422
    assert not Event.objects.filter(kind="run.limits_set").exists()


@pytest.mark.parametrize(
    "query", ["limit=5", "Agent=x", "risk=huge", "state=open", "risk=low&risk=huge", "q=x&page=2"]
)
def test_a_filter_that_there_is_not_shows_nothing(
    agent: AgentHttp, bob: PersonHttp, run: Any, query: str
) -> None:
    agent.pause(run["id"], call()).ok(201)
    assert bob.get(f"/requests?{query}").status == 422
    assert agent.get(f"/runs/{run['id']}?{query}").status == 422


def test_filters_of_the_queue_are_those_of_the_page(agent: AgentHttp, bob: PersonHttp, run: Any) -> None:
    agent.pause(run["id"], call()).ok(201)
    risk = ReviewRequest.objects.get().risk
    for query, many in {
        "": 1,
        f"risk={risk}": 1,
        "risk=low": 0,
        "agent=Support agent": 1,
        "agent=x": 0,
        "tool=refund": 1,
        "mine=1": 0,
        "free=1&state=any": 1,
        "state=approved": 0,
    }.items():
        assert len(bob.get(f"/requests?{query}").ok()["items"]) == many, query


@pytest.mark.parametrize("body", [b"not json", b'{"reason":"x"}', b"[]"])
def test_what_takes_no_body_refuses_one(agent: AgentHttp, bob: PersonHttp, run: Any, body: bytes) -> None:
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    request = f"/requests/{waiting['request']['id']}"
    bob.post(f"{request}/claim", {}).ok(200)
    assert bob.post(f"{request}/release", raw=body).status in (400, 422)
    assert bob.get(request).ok()["claimed_by"] is not None
    bob.post(f"{request}/release").ok(200)


def test_what_no_pause_takes_is_not_explained_either(agent: AgentHttp, run: Any, settings: Any) -> None:
    settings.LIMIT_ARGUMENTS_BYTES = 100
    large = {"note": "x" * 100}
    for answer in (
        agent.post("/policy/explain", {"tool": "refund", "arguments": large}),
        agent.pause(run["id"], call(arguments=large)),
    ):
        assert (answer.status, answer.json["errors"][0]["code"]) == (422, "too_large")


@pytest.mark.parametrize(
    "name", ["rh.plan", "rh.finish", "rh.ask", "rh.step/pay", "rh.gate/pay", "rh.verdict/Books"]
)
def test_nobody_observes_what_only_the_server_lets_be(agent: AgentHttp, run: Any, name: str) -> None:
    fine = {**call(), "outcome": {"status": "succeeded"}}
    body = {"tool_calls": [fine, {**fine, "tool": name}]}
    answer = agent.post(f"/runs/{run['id']}/observations", body)
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "/tool_calls/1/tool")
    assert answer.json["errors"][0]["code"] == "reserved"
    assert not ToolCall.objects.exists() and not Tool.objects.filter(name=name).exists()


@pytest.mark.parametrize("name", ["a%0ab", "%0a", "a%0a", "a%0d%0ab", "a/b%0ac"])
def test_a_name_with_a_line_break_is_what_is_refused(agent: AgentHttp, run: Any, name: str) -> None:
    tool = agent.put(f"/tools/{name}", {"effect": "read"})
    assert (tool.status, tool.json["errors"][0]["path"]) == (422, "/name")
    state = agent.put(f"/states/{name}/1", {"schema": {"type": "object"}})
    assert (state.status, state.json["errors"][0]["path"]) == (422, "/name")
    record = agent.put(f"{branch_of(run)}/records/{name}", {"value": 1})
    assert (record.status, record.json["errors"][0]["path"]) == (422, "/key")
    assert agent.get(f"{branch_of(run)}/records/{name}").code == "not_found"
    assert agent.get(f"/states/{name}/1").code == "not_found"


@pytest.mark.parametrize("address", ["/runs?q=a%00b", "/requests?agent=%00", "/requests?tool=x&q=%00"])
def test_a_filter_that_no_database_keeps_is_named(bob: PersonHttp, address: str) -> None:
    answer = bob.get(address)
    path = "/query/" + address.rpartition("=")[0].replace("?", "&").rpartition("&")[2]
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, path)
