"""What people do to runs through the API: list, read, start, fork, cancel."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Agent
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from reviewhub.runs.models import Branch, Run
from tests.cast import PASSWORD, Cast
from tests.driver import API, AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared

pytestmark = pytest.mark.django_db
SECRET = "sk_live_" + "a1B2c3D4" * 4


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def paused(agent: AgentHttp) -> dict[str, Any]:
    run = agent.run(title="Ticket 7", external_id="t-7", input={"password": SECRET, "note": f"by {SECRET}"})
    return agent.pause(run["id"], call()).ok(201)  # type: ignore[no-any-return]


@shared
def hosted(cast: Cast) -> Agent:
    return adopt(team=cast.support, graph="support", name="Desk", owner=None, actor=SYSTEM)


class TestReading:
    def test_a_person_reads_a_run_without_its_secrets(self, cast: Cast, paused: Any) -> None:
        bob = PersonHttp(cast.bob)
        shown = bob.get(f"/runs/{paused['run']}").ok()
        assert (shown["title"], shown["state"]) == ("Ticket 7", "paused")
        assert SECRET not in str(shown) and set(shown["input"]) == {"password", "note"}

    def test_what_a_person_does_to_a_run_answers_without_its_secrets_too(
        self, cast: Cast, paused: Any
    ) -> None:
        bob = PersonHttp(cast.bob)
        for verb in ("halt", "resume", "limits", "cancel"):
            body = {"reason": "odd"} | ({"seconds": 9} if verb == "limits" else {})
            assert SECRET not in str(bob.post(f"/runs/{paused['run']}/{verb}", body).ok()), verb

    def test_its_agent_reads_what_it_wrote(self, agent: AgentHttp, paused: Any) -> None:
        assert agent.get(f"/runs/{paused['run']}").ok()["input"]["password"] == SECRET

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", 2),
            ("?state=paused", 1),
            ("?agent=Support agent", 2),
            ("?agent=nobody", 0),
            ("?q=t-7", 1),
            ("?environment=staging", 0),
        ],
    )
    def test_the_list_is_narrowed(
        self, query: str, found: int, cast: Cast, agent: AgentHttp, paused: Any
    ) -> None:
        agent.run(title="Ticket 8")
        rows = PersonHttp(cast.carol).get(f"/runs{query}").ok()["items"]
        assert len(rows) == found
        assert all("input" not in row and row["url"].endswith(row["id"]) for row in rows)
        assert PersonHttp(cast.dave).get(f"/runs{query}").ok()["items"] == []

    def test_a_state_that_is_none_is_refused(self, cast: Cast) -> None:
        assert PersonHttp(cast.bob).get("/runs?state=asleep").status == 422


class TestForking:
    def test_a_person_forks_an_ended_run_and_supersedes_nothing(self, cast: Cast, paused: Any) -> None:
        bob, where = PersonHttp(cast.bob), f"/checkpoints/{paused['checkpoint']['id']}/fork"
        bob.post(f"/runs/{paused['run']}/cancel", {"reason": "over"}).ok()
        assert bob.post(where, {}).status == 422
        assert bob.post(where, {"reason": "  "}).status == 422
        body = {
            "branch": "second try",
            "reason": "with another sum",
            "changes": [{"op": "set", "path": "/n", "value": 2}],
        }
        made = bob.post(where, body, key="k").ok(201)
        assert bob.post(where, body, key="k").ok(201) == made
        assert {(one.name, one.state) for one in Branch.objects.filter(run=paused["run"])} == {
            ("main", "cancelled"),
            ("second try", "running"),
        }

    def test_an_agent_needs_no_reason(self, agent: AgentHttp, paused: Any) -> None:
        assert agent.post(f"/checkpoints/{paused['checkpoint']['id']}/fork").status == 201


class TestCancelling:
    def test_a_person_says_why(self, cast: Cast, paused: Any) -> None:
        bob, where = PersonHttp(cast.bob), f"/runs/{paused['run']}/cancel"
        assert bob.post(where, {}).status == 422
        assert bob.post(where, {"reason": "wrong order"}).ok()["state"] == "cancelled"
        assert bob.post(where, {"reason": "wrong order"}).ok()["state"] == "cancelled"


class TestStarting:
    def test_a_repeat_finds_the_run(self, cast: Cast, hosted: Agent) -> None:
        bob, where = PersonHttp(cast.bob), f"/agents/{hosted.pk}/runs"
        body = {"title": "Crushed", "environment": "test", "input": {"wish": "money back"}}
        made = bob.post(where, body, key="k").ok(201)
        assert bob.post(where, body, key="k").ok(200)["id"] == made["id"]
        assert bob.post(where, body | {"title": "Other"}, key="k").code == "idempotency_conflict"
        assert Run.objects.get().started_by == cast.bob

    @pytest.mark.parametrize(
        "wrong", [{"input": [1]}, {"environment": ""}, {"environment": "x" * 41}, {"agent": "other"}]
    )
    def test_what_does_not_fit_starts_nothing(self, wrong: Any, cast: Cast, hosted: Agent) -> None:
        assert PersonHttp(cast.bob).post(f"/agents/{hosted.pk}/runs", wrong).status in (400, 422)
        assert not Run.objects.exists()

    def test_an_agent_that_runs_elsewhere_starts_its_own(self, cast: Cast, agent: AgentHttp) -> None:
        row = Agent.objects.get()
        assert PersonHttp(cast.bob).post(f"/agents/{row.pk}/runs", {}).status == 422


def test_a_session_needs_its_csrf_token_where_a_key_works_too(cast: Cast, paused: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.login(username=cast.bob.person.email, password=PASSWORD)
    answer = strict.post(f"{API}/runs/{paused['run']}/cancel", "{}", content_type="application/json")
    assert answer.status_code == 403 and Run.objects.get().state == "paused"
