"""Whatever versions, marks, restores, forks and rewrites come in which order, all is what a model says it is."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.states import STEP_EDGES, StepStatus
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of

IDS = "abcdef"
WHY = {"kind": "agent", "text": "why not"}


@dataclass
class Version:
    """A version as plain Python: the order of its steps, and how far they are."""

    ids: list[str]
    now: dict[str, str]


@dataclass
class Model:
    """One run: its versions by number, and for each branch the numbers of its versions, the last one in force."""

    agent: AgentHttp
    bob: PersonHttp
    run: str
    versions: dict[int, Version] = field(default_factory=dict)
    lanes: dict[str, list[int]] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)

    @property
    def path(self) -> str:
        return f"/runs/{self.run}/plans"

    def step(self, dice: random.Random) -> None:
        """One random act."""
        branch = dice.choice(sorted(self.lanes.keys() - self.closed))
        acts = ["write", "mark", "mark", "late", "restore", "save", "branch"]
        act = dice.choice(acts if self.lanes[branch] else ["write"])
        getattr(self, act)(dice, branch)

    def write(self, dice: random.Random, branch: str) -> None:
        ids = dice.sample(IDS, dice.randint(1, len(IDS)))
        said = {one: dice.choice(StepStatus.values) for one in ids if dice.random() < 0.2}
        steps = [{"id": one, "title": one, **({"status": said[one]} if one in said else {})} for one in ids]
        lane = self.lanes[branch]
        body: dict[str, Any] = {"branch": branch, "steps": steps, "base": lane[-1] if lane else 0}
        made = self.agent.post(self.path, {**body, **({"why": WHY} if lane else {})}).ok(201)
        before = self.versions[lane[-1]].now if lane else {}
        now = {one: said.get(one, before.get(one, "pending")) for one in ids}
        self.take(branch, made["version"], Version(ids, now))

    def mark(self, dice: random.Random, branch: str) -> None:
        number = self.lanes[branch][-1]
        version = self.versions[number]
        step, status = dice.choice(version.ids), dice.choice(StepStatus.values)
        reply = self.agent.post(f"{self.path}/{number}/marks", {"marks": [{"step": step, "status": status}]})
        if status == version.now[step] or status in STEP_EDGES[version.now[step]]:
            reply.ok(200)
            version.now[step] = status
        else:
            assert (reply.status, reply.code) == (409, "illegal_transition")

    def late(self, dice: random.Random, branch: str) -> None:
        lane = self.lanes[branch]
        older = dice.choice([0, *lane[:-1]])
        body = {"branch": branch, "steps": [{"id": "z", "title": "z"}], "base": older, "why": WHY}
        reply = self.agent.post(self.path, body)
        assert (reply.code, reply.json["version"]) == ("stale_plan", lane[-1])

    def restore(self, dice: random.Random, branch: str) -> None:
        base = self.lanes[branch][-1]
        number = dice.choice(sorted(self.versions))
        before = self.execution()
        body = {"branch": branch, "base": base, "reason": "better"}
        reply = self.bob.post(f"{self.path}/{number}/restore", body)
        assert self.execution() == before
        if number == base:
            assert reply.status == 422
            return
        old, current = self.versions[number], self.versions[base].now
        self.take(branch, reply.ok(201)["version"], Version(old.ids, {**old.now, **pick(current, old.ids)}))

    def save(self, dice: random.Random, branch: str) -> None:
        lane = self.lanes[branch]
        ref = {"version": dice.choice(lane), "step": 0}
        body = {"branch": branch, "state": {"n": dice.randrange(99)}, "plan": ref}
        self.heads.append(self.agent.post(f"/runs/{self.run}/checkpoints", body).ok(201)["id"])

    def branch(self, dice: random.Random, branch: str) -> None:
        if not self.heads:
            return
        checkpoint = Checkpoint.objects.select_related("branch").get(pk=dice.choice(self.heads))
        name = checkpoint.branch.name
        path, rewrites = f"/checkpoints/{checkpoint.pk}", dice.random() < 0.5 and name not in self.closed
        reply = (
            self.bob.post(f"{path}/rewrite", {"reason": "wrong"})
            if rewrites
            else self.agent.post(f"{path}/fork", {})
        )
        if rewrites:
            self.closed.add(name)
        made = reply.ok(201)["branch"]
        source = self.versions[self.lanes[name][-1]]
        self.take(made["name"], made["plan"], Version(source.ids, dict(source.now)))
        if rewrites:  # its agent comes back to it
            self.agent.post(f"/branches/{made['id']}/claim", {"lease": "PT1S"})
            Branch.objects.filter(pk=made["id"]).update(lease_until=None, lease_owner="", state="running")

    def take(self, branch: str, number: int, version: Version) -> None:
        assert number == len(self.versions) + 1
        self.versions[number] = version
        self.lanes.setdefault(branch, []).append(number)

    def execution(self) -> Any:
        """Everything that a plan must not touch."""
        return list(Branch.objects.order_by("pk").values()), list(Checkpoint.objects.order_by("pk").values())

    def check(self) -> None:
        """Every version says what the model says, and those in force are in force."""
        for number, version in self.versions.items():
            shown = self.agent.get(f"{self.path}/{number}").ok()
            assert [(one["id"], one["status"]) for one in shown["steps"]] == [
                (one, version.now[one]) for one in version.ids
            ]
            assert shown["is_in_force"] == any(lane[-1:] == [number] for lane in self.lanes.values())
        plans = {one["name"]: one.get("plan") for one in self.agent.get(f"/runs/{self.run}").ok()["branches"]}
        assert plans == {name: lane[-1] if lane else None for name, lane in self.lanes.items()}


def pick(statuses: dict[str, str], ids: list[str]) -> dict[str, str]:
    return {one: statuses[one] for one in ids if one in statuses}


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(3))
def test_plans_go_on_as_in_the_model(cast: Cast, seed: int) -> None:
    agent, dice = agent_of(cast.support), random.Random(seed)
    model = Model(agent=agent, bob=PersonHttp(cast.bob), run=agent.run()["id"], lanes={"main": []})
    contents: dict[int, str] = {}
    for _ in range(40):
        model.step(dice)
        for row in PlanVersion.objects.values("number", "content", "statuses"):
            assert contents.setdefault(row["number"], row["content"] + row["statuses"]) == (
                row["content"] + row["statuses"]
            )
    model.check()
