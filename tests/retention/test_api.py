"""Retention through the API: what is in force, what would go, what became of a run, erasing. For people only."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.clock import now
from reviewhub.retention.forecast import forecast, look
from reviewhub.retention.models import Progress
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Run
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of
from tests.retention.conftest import rule

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def saved(agent: AgentHttp, count: int = 6, **fields: Any) -> str:
    """A run with so many checkpoints."""
    run = agent.run(**fields)["id"]
    for number in range(count):
        agent.post(f"/runs/{run}/checkpoints", {"state": {"n": number}}).ok(201)
    return str(run)


def test_what_is_in_force_and_what_became_of_a_run(agent: AgentHttp, cast: Cast) -> None:
    run = saved(agent, title="Refund")
    row = Run.objects.get(pk=run)
    rule(row, keep_last=1)
    carol = PersonHttp(cast.carol)
    before = carol.get(f"/runs/{run}/retention").ok()
    assert (before["says"], before["goes"]["checkpoints"]) == ("keep the last 1 of each branch", 4)
    assert (before["pins"], before["removed"]) == ([], [])
    second = Checkpoint.objects.get(run=row, number=2)
    carol.post(f"/checkpoints/{second.pk}/pin", {"reason": "the bug"}).ok()
    prune(run_id=row.pk)
    carol.post(f"/runs/{run}/hold", {"reason": "a lawsuit"}).ok()
    Progress.objects.update(failing_since=now(), failed_at=now(), problem="RuntimeError: a bug")
    told = carol.get(f"/runs/{run}/retention").ok()
    assert told["goes"]["checkpoints"] == 0
    assert told["hold"]["reason"] == "a lawsuit"
    (pinned,) = told["pins"]
    assert (pinned["checkpoint"], pinned["number"], pinned["pin"]["by"]) == (str(second.pk), 2, "Carol")
    assert [(one["first"], one["last"], one["count"]) for one in told["removed"]] == [(3, 4, 2)]
    assert told["failing"]["problem"] == "RuntimeError: a bug" and "seen_at" in told
    whole = carol.get("/retention").ok()
    assert [(one["keep_last"], one["says"], one["by"]) for one in whole["rules"]] == [
        (1, "keep the last 1 of each branch", "Alice")
    ]
    assert "max_age_days" not in whole["rules"][0]
    assert whole["default"] == "thin after 30 days"
    assert [(one["run"], one["title"]) for one in whole["held"]] == [(run, "Refund")]
    assert [one["run"] for one in whole["failing"]] == [run]


def test_a_dry_run_comes_in_pages_and_removes_nothing(agent: AgentHttp, cast: Cast) -> None:
    runs = [saved(agent, count) for count in (6, 1, 7)]
    rule(Run.objects.get(pk=runs[0]), keep_last=1)
    told = PersonHttp(cast.carol).get("/retention/dry-run").ok()
    assert [(one["run"], one["goes"]["checkpoints"]) for one in told["runs"]] == [(runs[0], 4), (runs[2], 4)]
    whole = forecast(cast.workspace.pk)
    assert told["looked_at"] == whole.runs == 3 and "next" not in told
    assert told["goes"]["checkpoints"] == whole.goes.checkpoints == 8
    assert told["goes"]["tiers"] == [{"tier": "database", "bytes": whole.goes.sizes["database"]}]
    assert told["goes"]["cost"] == f"{whole.cost:.6f}"
    for few in ({"most": 1}, {"seconds": -1.0}):
        seen, cursor = [], ""
        while True:
            page = look(cast.workspace.pk, cursor=cursor, **few)  # type: ignore[arg-type]
            assert len(page.runs) == 1
            seen += [str(run.pk) for run, _ in page.runs]
            cursor = page.next
            if not cursor:
                break
        assert seen == runs
    assert PersonHttp(cast.carol).get("/retention/dry-run?cursor=x").status == 422
    assert Checkpoint.objects.count() == 14


def test_an_admin_erases_and_nobody_else(agent: AgentHttp, cast: Cast) -> None:
    run = saved(agent, 1, on_behalf_of="Ann")
    body = {"on_behalf_of": "Ann", "reason": "they asked for it"}
    alice = PersonHttp(cast.alice)
    refused = alice.post("/retention/erase", body)
    assert (refused.status, refused.code) == (409, "still_open")
    branch = agent.get(f"/runs/{run}").ok()["branches"][0]["id"]
    agent.post(f"/branches/{branch}/finish", {"result": None}).ok()
    assert alice.post("/retention/erase", {"on_behalf_of": "Ann"}).status == 422
    for who in (PersonHttp(cast.carol), PersonHttp(cast.bob), agent):
        assert who.post("/retention/erase", body).status == 403
    assert PersonHttp(cast.mallory).post("/retention/erase", body).status == 404
    assert Run.objects.get(pk=run).erased_at is None
    assert alice.post("/retention/erase", body).ok() == {"runs": 1}
    assert alice.get(f"/runs/{run}/retention").ok()["erased_at"]
    assert alice.post("/retention/erase", body).status == 404


def test_admins_set_and_remove_rules(agent: AgentHttp, cast: Cast) -> None:
    alice = PersonHttp(cast.alice)
    named = {"agent": "Support agent", "run_class": "nightly"}
    said = named | {"delete_days": 7, "base": 0}
    made = alice.put("/retention/rules", said).ok()
    assert (made["agent"], made["run_class"], made["delete_days"], made["version"]) == (
        "Support agent",
        "nightly",
        7,
        1,
    )
    assert "keep_last" not in made and made["by"] == "Alice"
    again = alice.put("/retention/rules", said)
    assert (again.status, again.code) == (409, "changed")
    other = alice.put("/retention/rules", named | {"keep_last": 3, "base": 1}).ok()
    assert (other["says"], other["version"]) == ("keep the last 3 of each branch", 2)
    assert alice.get("/retention").ok()["rules"] == [other]
    assert alice.post("/retention/rules/remove", named | {"base": 1}).status == 409
    assert alice.post("/retention/rules/remove", named | {"base": 2}).status == 204
    assert alice.post("/retention/rules/remove", named | {"base": 0}).status == 404
    assert alice.get("/retention").ok()["rules"] == []


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"keep_last": 0}, 422),
        ({"max_age_days": 36_501}, 422),
        ({"max_age_days": -1}, 422),
        ({"keep_last": "5"}, 422),
        ({"run_class": "No such class"}, 422),
        ({"agent": "Nobody"}, 404),
        ({"forever": True}, 422),
    ],
)
def test_a_rule_that_cannot_be_is_refused(cast: Cast, wrong: dict[str, Any], status: int) -> None:
    alice = PersonHttp(cast.alice)
    assert alice.put("/retention/rules", {"base": 0} | wrong).status == status
    assert alice.get("/retention").ok()["rules"] == []
