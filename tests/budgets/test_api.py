"""`GET /runs/{run}/budget`, and the section of the run page."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.cast import Cast
from tests.driver import AgentHttp, agent_of, new_id, staging
from tests.shared import shared

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>\u202egnp" + "W" * 300


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def saved(agent: AgentHttp, *states: dict[str, object]) -> str:
    """A run with these states on its branch main."""
    run = str(agent.run()["id"])
    for state in states:
        agent.post(f"/runs/{run}/checkpoints", {"state": state}).ok(201)
    return run


def test_no_other_agent_and_no_other_environment_sees_it(cast: Cast, agent: AgentHttp) -> None:
    run = saved(agent, {"a": 1})
    for other in (
        agent_of(cast.support, "Other agent"),
        agent_of(cast.mallory.teams.get(), "Theirs"),
        staging(agent),
    ):
        assert other.get(f"/runs/{run}/budget").status == 404
    assert AgentHttp(token="rh_nothing").get(f"/runs/{run}/budget").status == 401
    assert agent.get(f"/runs/{new_id()}/budget").status == 404


def test_the_heaviest_field_is_first(agent: AgentHttp) -> None:
    run = saved(agent, {"a": "x"}, {"a": "x", "doc": "y" * 398})
    out = agent.get(f"/runs/{run}/budget").ok(200)
    assert (out["run"], out["branch"], out["bytes"]) == (run, "main", 416)
    first = out["fields"][0]
    assert first.pop("read_us") >= 0
    assert first.pop("write_us") >= 0
    assert first == {"field": "doc", "bytes": 400, "share": 96, "tokens": 100, "limit": 512_000, "grown": 400}
    assert [step["number"] for step in out["steps"]] == [1, 2]
    assert out["steps"][1]["blobs"] > 0
    written = sum(step["row"] + step["blobs"] for step in out["steps"])
    assert out["kept"] == {"checkpoints": 2, "bytes": written}
    assert out["warnings"] == []


def test_a_field_above_the_budget_is_warned_of(agent: AgentHttp, settings: object) -> None:
    settings.BUDGET_FIELD_BYTES = 300  # type: ignore[attr-defined]
    settings.BUDGET_STEP_BYTES = 100  # type: ignore[attr-defined]
    run = saved(agent, {"doc": "y" * 100}, {"doc": "y" * 398})
    assert agent.get(f"/runs/{run}/budget").ok(200)["warnings"] == [
        {"field": "doc", "why": "growth", "bytes": 298, "limit": 100, "share": 98},
        {"field": "doc", "why": "size", "bytes": 400, "limit": 300, "share": 98},
    ]


def test_a_run_without_a_state_weighs_nothing(agent: AgentHttp) -> None:
    run = saved(agent)
    out = agent.get(f"/runs/{run}/budget").ok(200)
    nothing = {"checkpoints": 0, "bytes": 0}
    assert out == {"run": run, "branch": "main", "kept": nothing, "fields": [], "steps": [], "warnings": []}
    assert agent.get(f"/runs/{run}/budget?branch=none").status == 404


def test_long_names_are_cut_and_many_fields_counted(agent: AgentHttp) -> None:
    run = saved(agent, {HOSTILE: "x" * 10} | {f"f{at}": 1 for at in range(200)})
    out = agent.get(f"/runs/{run}/budget").ok(200)
    assert out["fields"][0]["field"] == HOSTILE[:199] + "…"
    assert (len(out["fields"]), out["others"], out["others_bytes"]) == (50, 151, 151)


def test_the_run_page_shows_it(cast: Cast, agent: AgentHttp, settings: object) -> None:
    settings.BUDGET_FIELD_BYTES = 300  # type: ignore[attr-defined]
    run = saved(agent, {"a": 1}, {HOSTILE: "x" * 1234, "a": 1})
    bob, dave = Client(), Client()
    bob.force_login(cast.bob.person)
    dave.force_login(cast.dave.person)
    assert dave.get(f"/northwind/runs/{run}").status_code == 404
    page = bob.get(f"/northwind/runs/{run}").content.decode()
    assert "What the state weighs" in page
    assert "1,236" in page
    assert "Its budget is 300." in page
    assert "<script>alert" not in page
    assert "The last 2 checkpoints wrote" in page


def test_a_run_page_without_a_state_has_no_such_section(cast: Cast, agent: AgentHttp) -> None:
    run = saved(agent)
    bob = Client()
    bob.force_login(cast.bob.person)
    assert "What the state weighs" not in bob.get(f"/northwind/runs/{run}").content.decode()
