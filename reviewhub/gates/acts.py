"""What is no tool and is gated like one: what it says of itself is made, and checked, from the server's own record."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Max
from reviewhub_agents import canonical, wire

from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.gates.errors import ApprovalNeeded, DigestMismatch, NotAllowed
from reviewhub.gates.outcome import end_call
from reviewhub.gates.prepare import Prepared
from reviewhub.plans.content import sent
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import in_force
from reviewhub.policies.evaluate import Resolved, evaluate
from reviewhub.policies.facts import call_facts
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.in_plan import Said, is_inside, open_steps
from reviewhub.toolcalls.locks import lock_call
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.toolcalls.states import CallState
from reviewhub.tools import acts
from reviewhub.tools.see import known

MOST_RESULT = 20_000
"""Characters of a run's result that people are shown with the question whether it is done."""
MOST_VALUES = 2000
"""Values of it, at least: whatever is asked about takes no more than arguments may have."""


def plan_arguments(*, branch: Branch, body: wire.PlanBody, before: PlanVersion | None) -> Said:
    """What `rh.plan` says: the version as it was sent, the one it is made from, and the number it is to get."""
    given = body.to_tree()
    said = {name: given[name] for name in ("steps", "assumptions", "why") if given.get(name)}
    return {"base": _number(before.number if before else 0), "version": _number(_next(branch)), **said}


def step_arguments(*, branch: Branch, node: str, step: int) -> Said:
    """What `rh.step/NODE` says. The node is inside of a plan when people approved the version in force and that has
    an open step of the node's name."""
    version = in_force(branch.pk)
    said: Said = {"node": node, "step": _number(step), "inside_plan": False}
    if version is None:
        return said
    return said | {"plan_version": _number(version.number), "inside_plan": is_inside(version, node)}


def finish_arguments(*, branch: Branch, result: canonical.Tree) -> Said:
    """What `rh.finish` says: the steps of the plan that are open, and the result, or its digest when it is long."""
    version = in_force(branch.pk)
    said: Said = {"open_steps": [*open_steps(version)] if version else []}
    text = canonical.dumps(result)
    if len(text) > MOST_RESULT or text.count(",") > MOST_VALUES:
        return said | {"result_digest": canonical.body_digest(result)}
    return said | {"result": result}


def answer_to(*, branch: Branch, name: str, arguments: Said) -> Resolved:
    """What policy says to an act of this branch's agent."""
    agent = branch.run.agent
    tool = known(agent=agent, names=[name])[name]
    facts = call_facts(tool=tool, arguments=canonical.dumps(arguments)).facts
    (answer,) = evaluate(
        workspace_id=branch.workspace_id, agent=agent, environment=branch.run.environment, calls=[facts]
    )
    return answer


def require_nobody(*, branch: Branch, name: str, arguments: Said) -> None:
    """Returns when policy lets the agent do this without asking.

    Raises:
        ApprovalNeeded: it has to pause for it, with these arguments.
    """
    answer = answer_to(branch=branch, name=name, arguments=arguments)
    if answer.action != "allow":
        raise ApprovalNeeded(
            f"Pause for {name} first. {answer.text}", tool=name, arguments_text=canonical.dumps(arguments)
        )


def spend(
    *,
    branch: Branch,
    call_id: uuid.UUID,
    name: str,
    fits: Callable[[Any], bool],
    result: canonical.Tree,
    actor: Actor,
) -> None:
    """Uses an allowed and consumed call for what it allowed, once: it ends here, in the caller's transaction.

    Args:
        branch: locked by the caller.
        fits: whether what is done is what these arguments say.
        result: of the call.

    Raises:
        NotAllowed: it is another branch's, was not consumed, or is spent.
        DigestMismatch: something else was allowed.
    """
    locked = lock_call(call_id)
    call = locked.call
    if (call.branch_id, call.tool_name) != (branch.pk, name):
        raise NotAllowed(f"This call is no {name} of this branch.", state=call.state)
    if call.state != CallState.STARTED:
        raise NotAllowed(
            f"This {name} is {call.state}; it has to be consumed, and is used once.", state=call.state
        )
    version = call.attempts.get(number=call.attempt).grant.version
    if not fits(canonical.reread(arguments_of(call, version))):
        raise DigestMismatch(f"Another {name} was allowed.", digest=call.digest)
    body = wire.OutcomeBody(status=wire.OutcomeStatus.SUCCEEDED, result=result, attempt=call.attempt)
    end_call(locked, body, actor)


def check_true(*, branch: Branch, prepared: Sequence[Prepared]) -> None:
    """Refuses a pause whose acts say of the plan, or of the branch, what the record does not.

    Args:
        branch: locked by the caller.

    Raises:
        Invalid: with the place.
    """
    for at, one in enumerate(prepared):
        name = one.proposal.tool_name
        if acts.act_of(name) is None:
            continue
        said: Any = canonical.reread(one.proposal.arguments)
        fault = _fault(branch, name, said)
        if fault:
            raise Invalid.at(f"/tool_calls/{at}/arguments", fault)


def _fault(branch: Branch, name: str, said: Any) -> str:
    if name.startswith(acts.STEP):
        step = said.get("step")
        number = int(step.literal) if isinstance(step, canonical.Number) and step.literal.isdecimal() else -1
        true = step_arguments(branch=branch, node=name.removeprefix(acts.STEP), step=number)
        return "" if said == true else f"the record says {canonical.dumps(true)}"
    if name == acts.FINISH:
        true = finish_arguments(branch=branch, result=None)
        if said.get("open_steps") != true["open_steps"]:
            return f"open_steps: the record says {canonical.dumps(true['open_steps'])}"
        return "" if {"result", "result_digest"} & said.keys() else "result is missing"
    if name == acts.PLAN:
        return _plan_fault(branch, said)
    return "a verdict is given, not asked for" if name.startswith(acts.VERDICT) else ""


def _plan_fault(branch: Branch, said: Any) -> str:
    before = in_force(branch.pk)
    if said.get("base") != _number(before.number if before else 0):
        return f"base: version {before.number if before else 0} is in force"
    if said.get("version") != _number(_next(branch)):
        return f"version: the next one is {_next(branch)}"
    try:
        body = wire.PlanBody.from_tree({key: said[key] for key in said if key not in ("base", "version")})
        sent(body.steps, body.assumptions)
    except (wire.BadBody, Invalid) as error:
        return str(error)
    return ""


def _next(branch: Branch) -> int:
    newest = PlanVersion.objects.filter(run_id=branch.run_id).aggregate(newest=Max("number"))["newest"]
    return (newest or 0) + 1


def _number(value: int) -> canonical.Number:
    return canonical.Number(str(value))
