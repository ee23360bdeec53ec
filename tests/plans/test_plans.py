"""Plans over HTTP: versions, marks, the lock, restoring, and what a fork takes along."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call, staging
from tests.shared import shared

STEPS = [
    {"id": "look", "title": "Read the ticket"},
    {"id": "judge", "title": "Judge the damage", "steps": [{"id": "photo", "title": "Look at the photo"}]},
    {"id": "pay", "title": "Refund the order"},
]
ASSUMPTIONS = [{"id": "open", "text": "The carrier's claim is open"}]
WHY = {"kind": "agent", "text": "shorter"}


class Planner:
    """An agent with a run."""

    def __init__(self, cast: Cast) -> None:
        self.http = agent_of(cast.support)
        self.run = self.http.run()["id"]
        self.path = f"/runs/{self.run}/plans"

    def write(self, *ids: str, **fields: Any) -> Any:
        """A version with these steps, or STEPS."""
        steps = [{"id": one, "title": one.upper()} for one in ids] or STEPS
        return self.http.post(self.path, {"steps": steps, **fields})

    def mark(self, version: int, *marks: tuple[str, ...], **fields: Any) -> Any:
        names = ("step", "status", "note")
        body = {"marks": [dict(zip(names, one, strict=False)) for one in marks], **fields}
        return self.http.post(f"{self.path}/{version}/marks", body)

    def statuses(self, version: int) -> dict[str, str]:
        """Every step of a version with its status, sub-steps too."""
        found: dict[str, str] = {}
        todo = list(self.http.get(f"{self.path}/{version}").ok()["steps"])
        while todo:
            step = todo.pop()
            found[step["id"]] = step["status"]
            todo += step.get("steps", [])
        return found

    def save(self, **fields: Any) -> Any:
        return self.http.post(f"/runs/{self.run}/checkpoints", {"state": {"n": 1}, **fields})


@shared
def agent(cast: Cast) -> Planner:
    return Planner(cast)


@shared
def bob_acts(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def restore(who: PersonHttp, agent: Planner, version: int, *, base: int, key: str = "", **fields: Any) -> Any:
    body = {"base": base, "reason": "the old one was better", **fields}
    return who.post(f"{agent.path}/{version}/restore", body, key=key)


class TestVersions:
    def test_another_agent_and_another_environment_see_no_plan(self, cast: Cast, agent: Planner) -> None:
        agent.write().ok(201)
        for stranger in (
            agent_of(cast.mallory.teams.get(), name="Stranger"),
            agent_of(cast.support, name="Neighbour"),
            staging(agent.http),
        ):
            for path in (
                agent.path,
                f"{agent.path}/1",
                f"{agent.path}/1/marks",
                f"{agent.path}/1/difference/1",
            ):
                assert stranger.get(path).status == 404
            assert stranger.post(agent.path, {"steps": STEPS}).status == 404
            assert (
                stranger.post(f"{agent.path}/1/marks", {"marks": [{"step": "look", "status": "done"}]}).status
                == 404
            )
        assert PlanVersion.objects.count() == 1
        assert not StepMark.objects.exists()

    def test_the_first(self, agent: Planner) -> None:
        made = agent.write(assumptions=ASSUMPTIONS).ok(201)
        assert (made["version"], made["branch_name"], made["is_in_force"]) == (1, "main", True)
        assert made["why"] == {"kind": "first"}
        assert made["author"] == {"kind": "agent", "name": "Support agent"}
        assert "base" not in made
        assert made["assumptions"] == ASSUMPTIONS
        assert made["steps"][1]["steps"] == [
            {"id": "photo", "title": "Look at the photo", "status": "pending"}
        ]
        (branch,) = agent.http.get(f"/runs/{agent.run}").ok()["branches"]
        assert branch["plan"] == 1

    def test_a_run_without_a_plan_has_none(self, agent: Planner) -> None:
        assert agent.http.get(agent.path).ok() == {"items": []}
        assert agent.http.get(f"{agent.path}/1").status == 404
        assert agent.http.get(f"{agent.path}/{10**30}").status == 404
        (branch,) = agent.http.get(f"/runs/{agent.run}").ok()["branches"]
        assert "plan" not in branch

    def test_a_change_says_why_and_carries_on_what_was_done(self, agent: Planner) -> None:
        agent.write(assumptions=ASSUMPTIONS).ok(201)
        agent.mark(1, ("look", "done"), ("judge", "running")).ok()
        assert agent.write("look", "judge", "claim").json["errors"][0] == {
            "path": "/why",
            "code": "missing",
            "message": "is needed: version 1 is in force, and this one changes it",
        }
        why = {"kind": "contradicted", "assumption": "open", "text": "it was closed"}
        second = agent.write("look", "judge", "claim", base=1, why=why).ok(201)
        assert (second["version"], second["base"], second["why"]) == (2, 1, why)
        assert agent.statuses(2) == {"look": "done", "judge": "running", "claim": "pending"}
        event = Event.objects.filter(kind="plan.changed").order_by("-id")[0]
        assert event.payload.sentence == (
            "Support agent wrote version 2 of the plan of main: assumption open does not hold: it was closed"
        )
        listed = agent.http.get(agent.path).ok()["items"]
        assert [(one["version"], one["is_in_force"]) for one in listed] == [(2, True), (1, False)]
        assert "steps" not in listed[0]

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"why": {"kind": "restored"}}, "/why"),
            ({"why": {"kind": "first"}}, "/why"),
            ({"why": {"kind": "failures"}}, "/why"),
            ({"why": {"kind": "agent", "failures": 3}}, "/why"),
            ({"why": {"kind": "failures", "failures": 0}}, "/why/failures"),
            ({"why": {"kind": "contradicted", "assumption": "none"}}, "/why/assumption"),
            ({"steps": []}, "/steps"),
            ({"steps": [{"id": "a", "title": ""}]}, "/steps/0/title"),
            ({"steps": [{"id": "a", "title": "A", "status": "finished"}]}, "/steps/0/status"),
            ({"steps": [{"id": "a", "title": "A", "colour": 1}]}, "/steps/0/colour"),
            ({"steps": [{"id": "a", "title": "A" * 401}]}, "/steps/0/title"),
            ({"steps": [{"id": "a", "title": "A\0"}]}, "/steps/0/title"),
            ({"steps": [{"id": "a\ud83c", "title": "A"}]}, "/steps/0/id"),
            ({"steps": [{"id": f"s{n}", "title": "x"} for n in range(201)]}, "/steps"),
            ({"assumptions": [{"id": f"a{n}", "text": "x" * 60_000} for n in range(4)]}, "/steps"),
            ({"assumptions": [{"id": "a", "text": "x" * 64_001}]}, "/assumptions/0/text"),
            ({"branch": "none"}, None),
            ({"epoch": 7}, None),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_stored(
        self, agent: Planner, body: dict[str, Any], path: str | None
    ) -> None:
        refused = agent.http.post(agent.path, {"steps": STEPS, **body})
        if path is None:
            assert refused.status in (404, 409)
        else:
            assert refused.status in (400, 422)
            assert refused.json["errors"][0]["path"] == path
        assert not PlanVersion.objects.exists()

    def test_deep_nesting_is_refused_and_not_walked_into(self, agent: Planner) -> None:
        step: dict[str, Any] = {"id": "s", "title": "x"}
        for depth in range(40):
            step = {"id": f"s{depth}", "title": "x", "steps": [step]}
        assert agent.http.post(agent.path, {"steps": [step]}).json["errors"][0]["code"] == "too_large"

    def test_who_is_late_learns_which_version_is_in_force(self, agent: Planner) -> None:
        assert agent.write(base=1).json["version"] is None
        agent.write(base=0).ok(201)
        agent.write("a", base=1, why=WHY).ok(201)
        late = agent.write("b", base=1, why=WHY)
        assert (late.status, late.code, late.json["version"]) == (409, "stale_plan", 2)
        assert PlanVersion.objects.count() == 2

    def test_a_repeat_finds_the_version_that_it_wrote(self, agent: Planner) -> None:
        body = {"steps": STEPS}
        first = agent.http.post(agent.path, body, key="k").ok(201)
        agent.write("a", why=WHY).ok(201)
        again = agent.http.post(agent.path, {**body, "base": 2}, key="k").ok(201)
        assert again["version"] == first["version"] == 1
        assert not again["is_in_force"]
        assert agent.http.post(agent.path, {"steps": STEPS[:1]}, key="k").code == "idempotency_conflict"

    def test_a_branch_that_waits_keeps_its_plan(self, agent: Planner) -> None:
        agent.write().ok(201)
        agent.http.pause(agent.run, call()).ok(201)
        assert agent.write("a", why=WHY).code == "branch_paused"
        assert agent.mark(1, ("look", "done")).code == "branch_paused"

    def test_versions_and_marks_are_never_changed_or_removed(self, agent: Planner) -> None:
        agent.write().ok(201)
        agent.mark(1, ("look", "done")).ok()
        for rows, field in ((PlanVersion.objects.all(), "reason"), (StepMark.objects.all(), "note")):
            with pytest.raises(IntegrityError), transaction.atomic():
                rows.update(**{field: "another"})
            with pytest.raises(IntegrityError), transaction.atomic():
                rows._raw_delete(rows.db)

    def test_lists_go_on_by_cursor(self, agent: Planner) -> None:
        agent.write().ok(201)
        for number in range(60):
            agent.write(f"s{number}", why=WHY).ok(201)
        page = agent.http.get(agent.path).ok()
        rest = agent.http.get(f"{agent.path}?cursor={page['next']}").ok()
        numbers = [one["version"] for one in page["items"] + rest["items"]]
        assert numbers == list(range(61, 0, -1))
        assert "next" not in rest
        assert agent.http.get(f"{agent.path}?cursor=nonsense").status == 422


class TestMarks:
    def test_a_step_comes_to_be_done_and_each_mark_can_be_read(self, agent: Planner) -> None:
        agent.write().ok(201)
        agent.mark(1, ("look", "running")).ok()
        agent.mark(1, ("look", "running", "half of it")).ok()
        shown = agent.mark(1, ("look", "done"), ("photo", "failed", "it is dark")).ok()
        assert shown["steps"][0]["status"] == "done"
        assert shown["steps"][1]["steps"][0]["note"] == "it is dark"
        marks = agent.http.get(f"{agent.path}/1/marks").ok()["items"]
        assert [(one["number"], one["step"], one["status"], one.get("note")) for one in marks] == [
            (4, "photo", "failed", "it is dark"),
            (3, "look", "done", ""),
            (2, "look", "running", "half of it"),
            (1, "look", "running", ""),
        ]
        assert PlanVersion.objects.count() == 1
        assert not Event.objects.filter(kind__startswith="plan.").exclude(kind="plan.changed").exists()

    def test_what_stands_already_changes_nothing(self, agent: Planner) -> None:
        agent.write().ok(201)
        for _ in range(3):
            agent.mark(1, ("look", "done", "quick")).ok()
        assert StepMark.objects.count() == 1

    @pytest.mark.parametrize(
        ("marks", "status", "code"),
        [
            ([("none", "done")], 422, "invalid"),
            ([("look", "running"), ("pay", "done"), ("pay", "running")], 409, "illegal_transition"),
            ([("look", "skipped"), ("look", "pending")], 409, "illegal_transition"),
            ([("look", "ready")], 422, "invalid"),
            ([], 422, "invalid"),
            ([("look", "running", f"{n}") for n in range(101)], 422, "invalid"),
        ],
    )
    def test_all_or_none(self, agent: Planner, marks: list[Any], status: int, code: str) -> None:
        agent.write().ok(201)
        refused = agent.mark(1, *marks)
        assert (refused.status, refused.code) == (status, code)
        assert not StepMark.objects.exists()

    def test_only_of_the_version_in_force(self, agent: Planner) -> None:
        agent.write().ok(201)
        agent.write("a", why=WHY).ok(201)
        late = agent.mark(1, ("look", "done"))
        assert (late.status, late.code, late.json["version"]) == (409, "stale_plan", 2)
        assert agent.mark(3, ("a", "done")).status == 404


class TestRestore:
    def test_only_people_of_the_team(self, cast: Cast, agent: Planner) -> None:
        agent.write().ok(201)
        agent.write("a", why=WHY).ok(201)
        body = {"base": 2, "reason": "mine"}
        assert restore(PersonHttp(cast.mallory), agent, 1, base=2).status == 404
        assert restore(PersonHttp(cast.dave), agent, 1, base=2).status == 404
        assert restore(PersonHttp(cast.carol), agent, 1, base=2).status == 403
        assert restore(PersonHttp(cast.alice), agent, 1, base=2).status == 403
        assert agent.http.post(f"{agent.path}/1/restore", body).status == 403
        assert PlanVersion.objects.count() == 2

    def test_says_what_the_old_one_said_and_moves_nothing_else(
        self, agent: Planner, bob_acts: PersonHttp
    ) -> None:
        agent.write(assumptions=ASSUMPTIONS).ok(201)
        agent.mark(1, ("look", "done")).ok()
        agent.save(plan={"version": 1, "step": 4}).ok(201)
        agent.write("judge", "claim", why=WHY).ok(201)
        agent.mark(2, ("judge", "done"), ("claim", "done")).ok()
        agent.http.pause(agent.run, call()).ok(201)
        before = Branch.objects.values().get(), list(Checkpoint.objects.values())
        made = restore(bob_acts, agent, 1, base=2).ok(201)
        assert (made["version"], made["base"], made["restores"]) == (3, 2, 1)
        assert made["why"] == {"kind": "restored", "text": "the old one was better"}
        assert made["author"] == {"kind": "person", "name": "Bob"}
        old, new = PlanVersion.objects.get(number=1), PlanVersion.objects.get(number=3)
        assert old.content == new.content
        # What was done stays done, in the old plan and in the one that was in force.
        assert agent.statuses(3) == {"look": "done", "judge": "done", "photo": "pending", "pay": "pending"}
        assert (Branch.objects.values().get(), list(Checkpoint.objects.values())) == before
        event = Event.objects.get(kind="plan.restored")
        assert event.payload.sentence == (
            "Bob restored version 1 of the plan on main as version 3: the old one was better"
        )
        assert json.loads(event.payload.body)["data"]["base"] == 2

    def test_a_repeat_a_late_one_and_the_one_in_force(self, agent: Planner, bob_acts: PersonHttp) -> None:
        agent.write().ok(201)
        agent.write("a", why=WHY).ok(201)
        made = restore(bob_acts, agent, 1, base=2, key="k").ok(201)
        assert restore(bob_acts, agent, 1, base=2, key="k").ok(201)["version"] == made["version"]
        late = restore(bob_acts, agent, 1, base=2)
        assert (late.status, late.code, late.json["version"]) == (409, "stale_plan", 3)
        assert restore(bob_acts, agent, 3, base=3).status == 422
        assert restore(bob_acts, agent, 9, base=3).status == 404
        for reason in ("", " \n\u3000"):
            assert restore(bob_acts, agent, 1, base=3, reason=reason).status == 422
        assert PlanVersion.objects.count() == 3

    def test_the_agent_learns_of_it(self, agent: Planner, bob_acts: PersonHttp) -> None:
        agent.write().ok(201)
        agent.write("a", why=WHY).ok(201)
        restore(bob_acts, agent, 1, base=2).ok(201)
        assert agent.mark(2, ("a", "done")).json["version"] == 3
        assert agent.write("b", base=2, why=WHY).json["version"] == 3

    def test_an_ended_run_keeps_its_plan(self, agent: Planner, bob_acts: PersonHttp) -> None:
        agent.write().ok(201)
        agent.write("a", why=WHY).ok(201)
        agent.http.post(f"/runs/{agent.run}/cancel", {}).ok()
        assert restore(bob_acts, agent, 1, base=2).code == "run_ended"


class TestCheckpointsAndForks:
    @pytest.mark.parametrize(
        ("ref", "path"),
        [
            ({"version": 2, "step": 0}, "/plan/version"),
            ({"version": 1, "step": 5}, "/plan/step"),
            ({"version": 0, "step": 0}, "/plan/version"),
        ],
    )
    def test_a_checkpoint_names_a_version_and_a_step_that_are_there(
        self, agent: Planner, ref: dict[str, int], path: str
    ) -> None:
        agent.write().ok(201)
        assert agent.save(plan={"version": 1, "step": 4}).ok(201)["plan"] == {"version": 1, "step": 4}
        refused = agent.save(plan=ref)
        assert (refused.status, refused.json["errors"][0]["path"]) == (422, path)
        paused = agent.http.pause(agent.run, call(), checkpoint={"state": {}, "plan": ref})
        assert (paused.status, paused.json["errors"][0]["path"]) == (422, f"/checkpoint{path}")
        assert Checkpoint.objects.count() == 1

    def test_an_agent_without_plans_names_none(self, agent: Planner) -> None:
        agent.save().ok(201)
        assert agent.save(plan={"version": 1, "step": 0}).status == 422

    def test_a_fork_goes_on_with_the_plan_in_force(self, agent: Planner) -> None:
        agent.write("a", "b").ok(201)
        older = agent.save(plan={"version": 1, "step": 1}).ok(201)
        agent.write("a", "c", why=WHY).ok(201)
        agent.mark(2, ("a", "done")).ok()
        forked = agent.http.post(f"/checkpoints/{older['id']}/fork", {"reason": "another way"}).ok(201)
        assert forked["branch"]["plan"] == 3
        assert agent.statuses(3) == {"a": "done", "c": "pending"}
        copy = agent.http.get(f"{agent.path}/3").ok()
        assert (copy["base"], copy["why"]) == (2, {"kind": "forked", "text": "another way"})
        # From here each branch plans on for itself.
        agent.mark(2, ("c", "done")).ok()
        agent.mark(3, ("c", "skipped")).ok()
        agent.write("d", why=WHY, base=2).ok(201)
        agent.write("e", why=WHY, base=3, branch="fork-1").ok(201)
        plans = {one["name"]: one["plan"] for one in agent.http.get(f"/runs/{agent.run}").ok()["branches"]}
        assert plans == {"main": 4, "fork-1": 5}

    def test_a_fork_may_go_back_in_the_plan_too(self, agent: Planner) -> None:
        agent.write("a", "b").ok(201)
        agent.mark(1, ("a", "done")).ok()
        older = agent.save(plan={"version": 1, "step": 2}).ok(201)
        agent.mark(1, ("b", "failed")).ok()
        agent.write("z", why=WHY).ok(201)
        body = {"reason": "", "plan": "checkpoint"}
        agent.http.post(f"/checkpoints/{older['id']}/fork", body).ok(201)
        assert agent.statuses(3) == {"a": "done", "b": "pending"}

    def test_which_needs_a_checkpoint_that_names_a_version(self, agent: Planner) -> None:
        older = agent.save().ok(201)
        agent.write("a").ok(201)
        refused = agent.http.post(f"/checkpoints/{older['id']}/fork", {"plan": "checkpoint"})
        assert (refused.status, refused.json["errors"][0]["path"]) == (422, "/plan")
        assert Branch.objects.count() == 1

    def test_a_rewrite_keeps_the_plan_or_takes_the_old_one(
        self, agent: Planner, bob_acts: PersonHttp
    ) -> None:
        agent.write("a", "b").ok(201)
        older = agent.save(plan={"version": 1, "step": 1}).ok(201)
        agent.write("z", why=WHY).ok(201)
        path = f"/checkpoints/{older['id']}/rewrite"
        made = bob_acts.post(path, {"reason": "wrong order"}).ok(201)
        assert made["branch"]["plan"] == 3
        assert agent.statuses(3) == {"z": "pending"}
        assert restore(bob_acts, agent, 1, base=2).code == "superseded"
        back = restore(bob_acts, agent, 1, base=3, branch=made["branch"]["name"]).ok(201)
        assert back["branch_name"] == made["branch"]["name"]
