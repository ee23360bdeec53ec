"""The plan on the run page and on a page of its own: bounded, compared, restored, without a script."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.plans.models import PlanVersion
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of
from tests.shared import shared

As = Callable[[Member], Client]
WHY = {"kind": "failures", "failures": 3, "text": "the form does not load"}


class Planned:
    """A run with a plan in two versions, and where its pages are."""

    def __init__(self, cast: Cast) -> None:
        self.agent: AgentHttp = agent_of(cast.support)
        self.run = self.agent.run()["id"]
        self.path = f"/northwind/runs/{self.run}"
        self.write(["look", "pay"], assumptions=[{"id": "late", "text": "It is too late"}])
        marks = [{"step": "look", "status": "done", "note": "nine days ago"}]
        self.agent.post(f"/runs/{self.run}/plans/1/marks", {"marks": marks}).ok()
        self.write(["pay", "claim"], why=WHY)

    def write(self, ids: list[str], **fields: Any) -> None:
        steps = [{"id": one, "title": f"Step {one}"} for one in ids]
        self.agent.post(f"/runs/{self.run}/plans", {"steps": steps, **fields}).ok(201)

    def form(self, client: Client, version: int) -> dict[str, str]:
        """The hidden fields of the form that goes back."""
        html = client.get(f"{self.path}/plan/{version}").content.decode()
        found = dict(re.findall(r'name="(key|on)" value="([^"]*)"', html))
        return {**found, "reason": "It was better", "sure": "1"}


@shared
def planned(cast: Cast) -> Planned:
    return Planned(cast)


def text(client: Client, path: str, status: int = 200) -> str:
    reply = client.get(path)
    assert reply.status_code == status
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", reply.content.decode()))


def test_mallory_and_dave_see_no_plan(cast: Cast, planned: Planned, as_: As) -> None:
    for stranger in (cast.mallory, cast.dave):
        client = as_(stranger)
        assert client.get(f"{planned.path}/plan/1").status_code == 404
        form = {"on": f"2:{Branch.objects.get().pk}", "reason": "mine", "sure": "1", "key": "k"}
        assert client.post(f"{planned.path}/plan/1/restore", form).status_code == 404
    assert PlanVersion.objects.count() == 2


def test_managers_and_admins_outside_the_team_look_and_do_not_touch(
    cast: Cast, planned: Planned, as_: As
) -> None:
    for who in (cast.carol, cast.alice):
        client = as_(who)
        assert "Put version 1 in force" not in text(client, f"{planned.path}/plan/1")
        assert client.post(f"{planned.path}/plan/1/restore", {"key": "k"}).status_code == 403


def test_the_run_page_shows_what_is_in_force(cast: Cast, planned: Planned, as_: As) -> None:
    for path in (planned.path, f"{planned.path}/live"):
        said = text(as_(cast.bob), path)
        assert "version 2 on main , 0 of 2 steps done" in said
        assert "Step pay" in said
        assert "Step look" not in said
        assert "3 failures in a row: the form does not load" in said


def test_a_run_without_a_plan_says_nothing_of_one(cast: Cast, as_: As) -> None:
    run = agent_of(cast.support).run()["id"]
    html = as_(cast.bob).get(f"/northwind/runs/{run}").content.decode()
    assert re.search(r'<section class="lane" id="plan"[^>]* hidden></section>', html)


def test_two_versions_are_compared(cast: Cast, planned: Planned, as_: As) -> None:
    said = text(as_(cast.bob), f"{planned.path}/plan/2")  # with the one that it was made from
    assert "What differs from version 1 " in said
    assert re.search(r"Steps Step look Step claim Assumptions It is too late", said)
    assert "Nothing: the steps and assumptions are the same." in text(
        as_(cast.bob), f"{planned.path}/plan/1?with=1"
    )
    for odd in ("9", "x", "-1", "9" * 30, "²"):
        said = text(as_(cast.bob), f"{planned.path}/plan/1?with={odd}", 404)
        assert f"no version “{odd[:20]}” of its plan" in said and "Step look" in said, "the page stays"


def test_bob_goes_back_to_the_old_plan(cast: Cast, planned: Planned, as_: As) -> None:
    client = as_(cast.bob)
    form = planned.form(client, 1)
    reply = client.post(f"{planned.path}/plan/1/restore", form)
    assert (reply.status_code, reply.headers["Location"]) == (302, f"{planned.path}#plan")
    said = text(client, planned.path)
    assert "version 3 on main , 1 of 2 steps done" in said
    assert "Version 1 restored: It was better" in said
    # The same form again, a double click that came through: the same version.
    assert client.post(f"{planned.path}/plan/1/restore", form).status_code == 302
    assert PlanVersion.objects.count() == 3


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"reason": " "}, 422, "Say why"),
        ({"sure": ""}, 422, "Confirm that only the plan goes back"),
        ({"on": ""}, 422, "Say on which branch"),
        ({"on": "²:x"}, 422, "Say on which branch"),
        ({"reason": "a\0"}, 422, "U+0000"),
        ({"key": ""}, 422, "needs 1 to 255 printable ASCII characters"),
    ],
)
def test_what_is_missing_is_said_and_what_was_typed_stays(
    cast: Cast, planned: Planned, as_: As, change: dict[str, str], status: int, says: str
) -> None:
    client = as_(cast.bob)
    reply = client.post(f"{planned.path}/plan/1/restore", {**planned.form(client, 1), **change})
    assert reply.status_code == status
    assert says in reply.content.decode()
    assert "reason" in change or "It was better</textarea>" in reply.content.decode()
    assert PlanVersion.objects.count() == 2


def test_who_is_late_sees_what_is_in_force_and_keeps_the_words(cast: Cast, planned: Planned, as_: As) -> None:
    client = as_(cast.bob)
    form = planned.form(client, 1)
    planned.write(["other"], why=WHY)
    reply = client.post(f"{planned.path}/plan/1/restore", form)
    assert reply.status_code == 409
    html = reply.content.decode()
    assert "version 3 is in force" in html
    assert "It was better</textarea>" in html
    assert f'value="3:{Branch.objects.get().pk}"' in html


def test_an_ended_run_has_no_way_back(cast: Cast, planned: Planned, as_: As) -> None:
    client = as_(cast.bob)
    form = planned.form(client, 1)
    planned.agent.post(f"/runs/{planned.run}/cancel", {}).ok()
    assert "Put version 1 in force" not in text(client, f"{planned.path}/plan/1")
    assert client.post(f"{planned.path}/plan/1/restore", form).status_code == 409


def test_a_huge_plan_is_shown_in_part(cast: Cast, planned: Planned, as_: As, settings: Any) -> None:
    settings.LIMIT_PLAN_STEPS = 1000
    steps = [{"id": f"s{n}", "title": "x" * 150} for n in range(300)]
    assumptions = [{"id": f"a{n}", "text": "y" * 1500} for n in range(90)]
    body = {"steps": steps, "assumptions": assumptions, "why": WHY}
    planned.agent.post(f"/runs/{planned.run}/plans", body).ok(201)
    for path in (planned.path, f"{planned.path}/plan/3?with=1"):
        said = text(as_(cast.bob), path)
        assert "100 more steps are not shown" in said
        assert "70 more are not shown" in said
        assert len(said) < 120_000


@pytest.mark.parametrize(
    ("choice", "steps"), [({}, ["pay", "claim"]), ({"plan": "checkpoint"}, ["look", "pay"])]
)
def test_who_forks_chooses_the_plan(cast: Cast, as_: As, choice: dict[str, str], steps: list[str]) -> None:
    planned = Planned(cast)
    body = {"state": {}, "plan": {"version": 1, "step": 1}}
    saved = planned.agent.post(f"/runs/{planned.run}/checkpoints", body).ok(201)["id"]
    client = as_(cast.bob)
    for path in (planned.path, f"/northwind/checkpoints/{saved}"):
        said = text(client, path)
        assert "plan 1, step 1" in said
        assert "Go back to version 1 of the plan as well" in said
    form = {"reason": "another way", "key": "k", **choice}
    assert client.post(f"/northwind/checkpoints/{saved}/fork", form).status_code == 302
    newest = planned.agent.get(f"/runs/{planned.run}/plans/3").ok()
    assert [one["id"] for one in newest["steps"]] == steps
    assert newest["branch_name"] == "fork-1"
