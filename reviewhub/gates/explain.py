"""What would be answered to a call that nobody makes, and why a call that was made was answered as it was."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid
from reviewhub.core.limits import read_arguments
from reviewhub.gates.let_stand import asking_of, lifted_answer
from reviewhub.gates.prepare import because_text, failed_names
from reviewhub.gates.rejected import rejection_text, rejections
from reviewhub.limits.rules import said
from reviewhub.limits.weigh import look
from reviewhub.policies.evaluate import CallFacts, Then, call_of, in_force
from reviewhub.policies.explain import Explained
from reviewhub.policies.explain import explain as explain_policy
from reviewhub.policies.facts import call_facts
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Action, Layer, Policy, Step
from reviewhub.reviews.held_now import held_now
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.present_requirement import requirement_out
from reviewhub.reviews.requirement import Stored
from reviewhub.standing.queries import candidates, plain
from reviewhub.standing.rules import covers, decisive, why_not
from reviewhub.toolcalls.claims import failed_checks, wishes_of
from reviewhub.toolcalls.in_plan import plan_step
from reviewhub.toolcalls.likeness import likeness
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.toolcalls.verdict_weight import counting
from reviewhub.tools.models import Tool
from reviewhub.tools.see import known

FIRST = 1
"""The version of a call that was proposed."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A call that nobody makes."""

    agent: Agent
    environment: str
    facts: CallFacts

    @property
    def digest(self) -> str:
        """What the call would be known by."""
        return canonical.digest(tool=self.facts.tool, arguments_text=self.facts.arguments)


def explain(*, agent: Agent, environment: str, body: wire.ExplainBody) -> wire.ExplainOut:
    """What would be answered now; nothing is stored, not even that the tool was named."""
    tool = known(agent=agent, names=[body.tool])[body.tool]
    arguments = body.canonical_arguments
    tree = read_arguments(arguments, path="/arguments")
    read = call_facts(tool=tool, arguments=arguments, tree=tree, failed_checks=failed_names(body.checks))
    if read.errors:
        raise Invalid("The arguments are not what the tool's schema allows.", errors=read.errors)
    return explained(
        explain_facts(workspace_id=agent.workspace_id, agent=agent, environment=environment, facts=read.facts)
    )


def explain_facts(
    *,
    workspace_id: uuid.UUID,
    agent: Agent,
    environment: str,
    facts: CallFacts,
    rules_text: str | None = None,
) -> Explained:
    """What policy (or the draft `rules_text`) and all that stands between its layers would say to a call in a new run.

    Raises:
        Invalid: the draft is not as it should be.
    """
    found = explain_policy(
        workspace_id=workspace_id, agent=agent, environment=environment, call=facts, rules_text=rules_text
    )
    asked = _Asked(agent=agent, environment=environment, facts=facts)
    policy = in_force(workspace_id).policy if rules_text is None else parse_policy(rules_text)
    found = _with_limits(found, asked, policy)
    alike = likeness(tool=facts.tool, arguments=facts.arguments)
    no = rejections(agent_id=agent.pk, alike={alike}).get(alike)
    return _with_standing(_with_rejection(found, no), asked, rejected=no is not None)


def explain_call(call: ToolCall) -> Explained:
    """Why a call was or was not held when it was proposed: what the version that answered it says to it, rule by rule.

    All is as it was then: the arguments as they were proposed, what was known of tool, agent and team, and what stood
    between the layers of policy. Where that was not written down, it is what is known now (`is_by_then` False).
    """
    tree = canonical.reread(call.because)
    because = tree if isinstance(tree, dict) else {}
    then = _then(because)
    arguments = arguments_of(call, version=FIRST)
    facts = _facts_now(call, arguments) if then is None else _facts_then(call, arguments, then)
    found = explain_policy(
        workspace_id=call.workspace_id,
        agent=call.agent,
        environment=call.run.environment,
        call=facts,
        number=int(str(because.get("policy_version", call.policy_version))),
        then=then,
    )
    return replace(_as_recorded(call, because, found), is_by_then=then is not None)


def explain_request(row: ReviewRequest) -> Explained:
    """Why a call is held by this request: by its arguments now, after an edit, or by what made it asked about again.

    Where neither was, it is why the call was held as it was proposed.
    """
    call = row.tool_call
    stored = held_now(call, row)
    if stored is None:
        return explain_call(call)
    arguments = arguments_of(call, version=row.version)
    facts = _facts_now(call, arguments) if stored.then is None else _facts_then(call, arguments, stored.then)
    found = explain_policy(
        workspace_id=call.workspace_id,
        agent=call.agent,
        environment=call.run.environment,
        call=facts,
        number=stored.policy_version,
        then=stored.then,
    )
    answer = replace(
        found.answer, action="require", rule=stored.rule, text=stored.text, requirement=stored.requirement
    )
    return replace(found, answer=answer, is_by_then=stored.then is not None)


def _then(because: dict[str, Any]) -> Then | None:
    if not isinstance(because.get("then"), dict):
        return None
    known = canonical.to_python(because["then"])
    lists = {name: known.get(name) for name in ("wished_decisions", "failed_checks")}
    return Then(**known | {name: None if one is None else tuple(one) for name, one in lists.items()})


def _facts_then(call: ToolCall, arguments: str, then: Then) -> CallFacts:
    return CallFacts(
        tool=call.tool_name,
        registered=then.registered,
        effect=then.effect,
        arguments=arguments,
        schema_problem=then.schema_problem,
        failed_checks=failed_checks(call.claims) if then.failed_checks is None else then.failed_checks,
        wished_decisions=then.wished_decisions,
        wished_deadline_seconds=then.wished_deadline_seconds,
        plan_step=then.plan_step,
    )


def _facts_now(call: ToolCall, arguments: str) -> CallFacts:
    tool = Tool.objects.get(agent_id=call.agent_id, name=call.tool_name)
    read = call_facts(
        tool=tool,
        arguments=arguments,
        failed_checks=counting(
            agent=call.agent,
            environment=call.run.environment,
            tool=call.tool_name,
            failed=failed_checks(call.claims),
        ),
        **wishes_of(call.claims),
        plan_step=plan_step(agent=call.agent, branch=call.branch, call_id=call.call_id),
    )
    if read.errors:
        return replace(read.facts, schema_problem=read.errors[0]["message"])
    return read.facts


def explained(found: Explained) -> wire.ExplainOut:
    """An answer, and how it came about, in the words of the contract."""
    answer = found.answer
    tree = canonical.reread(because_text(answer))
    because = (
        {name: value for name, value in tree.items() if name not in ("action", "then")}
        if isinstance(tree, dict)
        else {}
    )
    fields: dict[str, Any] = {
        "outcome": answer.action,
        "because": wire.Because.from_tree(because),
        "policy_version": answer.policy_version,
    }
    fields["steps"] = [_step(step) for step in found.steps]
    if answer.requirement is not None:
        fields["requirement"] = requirement_out(answer.requirement)
    if found.is_by_then:
        fields["by_then"] = True
    return wire.ExplainOut(**fields)


def _with_rejection(found: Explained, no: ReviewRequest | None) -> Explained:
    """In a new run it only keeps standing approvals away."""
    if no is None:
        return found
    text = f"{rejection_text(no)} No standing approval lets it run."
    return replace(found, steps=_between(found.steps, [_own("rejection", f"#{no.number}", "require", text)]))


def _with_limits(found: Explained, asked: _Asked, policy: Policy | None) -> Explained:
    call = call_of(asked.facts, agent=asked.agent, environment=asked.environment, tools=frozenset())
    weighing = look(policy=policy, agent=asked.agent, call=call, answer=found.answer)
    is_answer = weighing.answer.layer == "limit"
    steps = [
        Step(
            layer="limit",
            position=position,
            rule=one.limit.name,
            action=one.limit.then,
            matched=bool(one.why) if one.is_countable else None,
            why=one.why
            or f"{said(one.used)} of {one.limit.most} are taken, and this takes {said(one.units)}",
            answers=is_answer and bool(one.why),
        )
        for position, one in enumerate(weighing.weighed, start=1)
    ]
    return Explained(answer=weighing.answer, steps=_between(found.steps, steps))


def _with_standing(found: Explained, asked: _Asked, *, rejected: bool) -> Explained:
    answer, steps = found.answer, []
    asking = asking_of(
        asked.facts, agent=asked.agent, run=None, digest=asked.digest, environment=asked.environment
    )
    is_open = not rejected and not why_not(found.answer)
    for position, row in enumerate(candidates(asked.agent.pk, [asked.facts.tool]), start=1):
        one = plain(row)
        parts = list(covers(one, asking, at=now()))
        failed = decisive(parts)
        lifts = is_open and failed is None and (row.team_id,) == found.answer.team_ids
        if lifts:
            is_open, answer = False, lifted_answer(found.answer, one, use=one.uses + 1)
        steps.append(
            Step(
                layer="standing",
                position=position,
                rule=f"#{one.number}",
                action="allow",
                matched=failed.holds if failed else True,
                why=failed.why if failed else "covers it",
                parts=tuple(parts),
                answers=lifts,
            )
        )
    return Explained(answer=answer, steps=_between(found.steps, steps))


def _as_recorded(call: ToolCall, because: dict[str, Any], found: Explained) -> Explained:
    if because.get("kind") not in ("limit", "rejection", "standing"):
        return found
    layer, action = cast("Layer", because["kind"]), cast("Action", because["action"])
    rule, text = str(because.get("rule", "")), str(because["text"])
    needed = None
    if action == "require":
        asked = ReviewRequest.objects.filter(tool_call=call).order_by("number").first()
        needed = Stored.model_validate_json(asked.requirement).requirement if asked else None
    answer = replace(found.answer, action=action, layer=layer, rule=rule, text=text, requirement=needed)
    return Explained(
        answer=answer, steps=_between(found.steps, [_own(layer, rule, action, text, answers=True)])
    )


def _own(layer: Layer, rule: str, action: Action, why: str, *, answers: bool = False) -> Step:
    return Step(layer=layer, position=1, rule=rule, action=action, matched=True, why=why, answers=answers)


def _between(steps: Sequence[Step], more: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with these before the rules; where one of these answers, no rule does."""
    is_theirs = any(step.answers for step in more)
    kept = [replace(step, answers=False) if is_theirs else step for step in steps]
    above = [step for step in kept if step.layer != "rule"]
    return (*above, *more, *(step for step in kept if step.layer == "rule"))


def _step(step: Step) -> wire.StepOut:
    parts = [wire.PartOut(what=part.what, holds=part.holds, why=part.why) for part in step.parts]
    return wire.StepOut(
        layer=step.layer,
        position=step.position,
        rule=step.rule,
        action=wire.PolicyOutcome(step.action),
        matched=step.matched,
        why=step.why,
        answers=step.answers,
        parts=parts,
    )
