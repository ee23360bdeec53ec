"""What the record says of a plan: which steps are open, whether people approved it, whether a call is inside of it."""

from __future__ import annotations

from collections.abc import Sequence

from reviewhub_agents import canonical
from reviewhub_agents.runtime.replay import node_of

from reviewhub.accounts.models import Agent
from reviewhub.plans.content import stored
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import in_force, standing
from reviewhub.plans.rules import PENDING
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.tools import acts

OVER = ("done", "skipped")
Said = dict[str, canonical.Tree]


def plan_steps(*, agent: Agent, branch: Branch, call_ids: Sequence[str]) -> list[str]:
    """For each call the open step of an approved plan inside of which it is asked for; empty outside.

    Only of hosted agents: there it is the server's own worker that says which step of the graph runs, by the place at
    the beginning of `call_id`. What another program says of itself frees nothing. It is asked whether a rule looks at
    it or not, since it is kept with the answer, for drafts in shadow and for backtests.
    """
    nodes = [node_of(call_id) for call_id in call_ids]
    outside = [""] * len(nodes)
    if agent.runner != Agent.Runner.HOSTED or not any(nodes):
        return outside
    version = in_force(branch.pk)
    if version is None:
        return outside
    open_ = {one["id"] for one in open_steps(version)}
    inside = [node if node in open_ else "" for node in nodes]
    return inside if any(inside) and is_approved(version) else outside


def plan_step(*, agent: Agent, branch: Branch, call_id: str) -> str:
    """As `plan_steps`, for one call."""
    return plan_steps(agent=agent, branch=branch, call_ids=[call_id])[0]


def is_inside(version: PlanVersion, node: str) -> bool:
    """Whether a step of the graph is one of an approved plan: it has an open step whose id is the node's name."""
    return any(one["id"] == node for one in open_steps(version)) and is_approved(version)


def open_steps(version: PlanVersion) -> list[Said]:
    """The steps without sub-steps that are neither done nor skipped, in reading order."""
    steps, now = stored(version).steps, standing(version)
    parents = {step.parent for step in steps}
    found: list[Said] = []
    for step in steps:
        status = now[step.id].status if step.id in now else PENDING
        if step.id not in parents and status not in OVER:
            found.append({"id": step.id, "title": step.title, "status": status})
    return found


def is_approved(version: PlanVersion) -> bool:
    """Whether people approved this very version, or the one that it restores: restoring takes nobody's approval, so it
    gives none."""
    while version.restores is not None:
        before = PlanVersion.objects.filter(run_id=version.run_id, number=version.restores).first()
        if before is None:  # removed since
            return False
        version = before
    calls = ToolCall.objects.filter(
        run_id=version.run_id,
        tool_name=acts.PLAN,
        state=CallState.SUCCEEDED,
        result=canonical.dumps(written(version)),
    )
    return calls.filter(decisions__by_kind="person", decisions__type__in=("approve", "edit")).exists()


def written(version: PlanVersion) -> Said:
    """The result of an approved `rh.plan`."""
    return {"version": canonical.Number(str(version.number))}
