"""The tool calls of a pause are read, checked, hashed and put to policy: everything that needs no transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.core.errors import Invalid
from reviewhub.core.limits import read_arguments
from reviewhub.gates.not_too_many import not_too_many
from reviewhub.policies.evaluate import CallFacts, InForce, Resolved, evaluate, in_force
from reviewhub.policies.facts import call_facts
from reviewhub.policies.rules import effective_effect
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.claims import claims_text, wishes
from reviewhub.toolcalls.in_plan import plan_steps
from reviewhub.toolcalls.likeness import likeness_of
from reviewhub.toolcalls.propose import Proposal
from reviewhub.toolcalls.states import CallState
from reviewhub.toolcalls.verdict_weight import counting
from reviewhub.toolcalls.words import call_words
from reviewhub.tools.models import Tool
from reviewhub.tools.rules import name_fault
from reviewhub.tools.see import known, see
from reviewhub.tools.shown import Shown, shown

STATE_OF = {
    "allow": CallState.ALLOWED,
    "observe": CallState.ALLOWED,
    "require": CallState.WAITING,
    "deny": CallState.DENIED,
}


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """One call, ready to be written, and what policy says to it; `by` is the version that was asked."""

    proposal: Proposal
    facts: CallFacts
    answer: Resolved
    by: InForce
    tool: Tool
    shown: Shown
    failed_checks: int
    repeats: tuple[uuid.UUID, ...] = ()


def prepare(
    *,
    run: Run,
    agent: Agent,
    calls: Sequence[wire.ToolCallIn],
    may_wait: bool = True,
    branch: Branch | None = None,
) -> list[Prepared]:
    """Reads the calls of one pause.

    Args:
        branch: which asks; without one no call is inside of a plan.
        may_wait: whether calls that policy holds will wait for people; those that ran already do not.

    Raises:
        Invalid: a call names no tool, its arguments are too large or not what the tool's schema allows; every
            error with its path in the body.
        TooManyWaiting: more requests of the agent would wait than may.
    """
    _check_names(calls)
    tools = known(agent=agent, names=[call.tool for call in calls])
    asked = [call.call_id for call in calls]
    steps = plan_steps(agent=agent, branch=branch, call_ids=asked) if branch else [""] * len(calls)
    read = [
        _read(position, call, tools[call.tool], step, _counting(run, agent, call), agent.name)
        for position, (call, step) in enumerate(zip(calls, steps, strict=True))
    ]
    errors = [error for one in read for error in one.errors]
    if errors:
        raise Invalid("The arguments are not what the tool's schema allows.", errors=errors)
    by = in_force(run.workspace_id)
    answers = evaluate(
        workspace_id=run.workspace_id,
        agent=agent,
        environment=run.environment,
        calls=[one.facts for one in read],
        now=by,
    )
    # Only now: what is refused leaves nothing behind. Tools that nobody described make rows, and nothing lets them run.
    unknown = sum(
        answer.action == "require" and not one.facts.registered
        for one, answer in zip(read, answers, strict=True)
    )
    if may_wait and unknown:
        not_too_many(agent=agent, more=unknown, policy=by.policy)
    tools = see(agent=agent, tools=tools)
    return [
        with_answer(
            Prepared(
                proposal=one.proposal,
                facts=one.facts,
                answer=answer,
                by=by,
                tool=tools[one.facts.tool],
                shown=one.shown,
                failed_checks=len(one.facts.failed_checks),
            ),
            answer,
        )
        for one, answer in zip(read, answers, strict=True)
    ]


def _check_names(calls: Sequence[wire.ToolCallIn]) -> None:
    faults = [(at, fault) for at, call in enumerate(calls) if (fault := name_fault(call.tool)) is not None]
    if faults:
        errors = [
            {"path": f"/tool_calls/{at}/tool", "code": "invalid", "message": fault} for at, fault in faults
        ]
        raise Invalid(faults[0][1], errors=errors)


def asked_again(*, run: Run, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The same calls with what policy says now; for a policy that was published between asking and writing."""
    by = in_force(run.workspace_id)
    answers = evaluate(
        workspace_id=run.workspace_id,
        agent=agent,
        environment=run.environment,
        calls=[one.facts for one in prepared],
        now=by,
    )
    return [with_answer(replace(one, by=by), answer) for one, answer in zip(prepared, answers, strict=True)]


def with_answer(one: Prepared, answer: Resolved) -> Prepared:
    """The call with this answer and the state that it leads to."""
    proposal = replace(
        one.proposal,
        state=STATE_OF[answer.action],
        policy_version=answer.policy_version,
        because=because_text(answer),
        sample_percent=answer.sample_percent if answer.action == "observe" else None,
    )
    return replace(one, proposal=proposal, answer=answer)


def because_text(answer: Resolved) -> str:
    """Why the call waits, may run or may not, as the API shows it."""
    tree: dict[str, canonical.Tree] = {
        "kind": answer.layer if answer.rule else "default",
        "action": answer.action,
        "policy_version": canonical.Number(str(answer.policy_version)),
        "text": answer.text,
    }
    if answer.rule:
        tree["rule"] = answer.rule
    if answer.then is not None:
        # For whoever asks later why: what pages and agents are told leaves it out.
        tree["then"] = canonical.parse(json.dumps(asdict(answer.then)))
    return canonical.dumps(tree)


@dataclass(frozen=True, kw_only=True)
class _Read:
    """One call before policy is asked."""

    proposal: Proposal
    facts: CallFacts
    shown: Shown
    errors: list[dict[str, str]]


def _read(
    position: int, call: wire.ToolCallIn, tool: Tool, step: str, failed: tuple[str, ...], agent: str
) -> _Read:
    where = f"/tool_calls/{position}/arguments"
    text = call.canonical_arguments
    # Whatever looks at the arguments from here on looks at this one value: to read it anew is what costs.
    tree = read_arguments(text, path=where)
    known = call_facts(
        tool=tool,
        arguments=text,
        tree=tree,
        failed_checks=failed,
        **wishes(call),
        plan_step=step,
    )
    errors = [error | {"path": where + error["path"]} for error in known.errors]
    claimed = call.effect.value if call.effect else None
    effect = effective_effect(tool.policy_effect if tool.is_registered else None, claimed)
    said = shown(tool, text, tree)
    proposal = Proposal(
        tool_name=tool.name,
        call_id=call.call_id,
        effect=effect,
        time_limit_seconds=tool.time_limit_seconds,
        arguments=text,
        digest=canonical.digest_of(tool=tool.name, canonical_arguments=text),
        likeness=likeness_of(tool=tool.name, arguments=tree),
        claims=claims_text(call),
        words=call_words(tool=tool.name, agent=agent, template=tool.sentence, masked=said.masked),
    )
    return _Read(proposal=proposal, facts=known.facts, shown=said, errors=errors)


def _counting(run: Run, agent: Agent, call: wire.ToolCallIn) -> tuple[str, ...]:
    return counting(
        agent=agent, environment=run.environment, tool=call.tool, failed=failed_names(call.checks)
    )


def failed_names(checks: Sequence[wire.Check]) -> tuple[str, ...]:
    """The names of checks that the agent itself says have failed, or could not be made."""
    bad = (wire.CheckStatus.FAILED, wire.CheckStatus.ERROR, wire.CheckStatus.TIMED_OUT)
    return tuple(check.name for check in checks if check.status in bad)
