"""Between a decision and its use the world may have changed: facts, policy, time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reviewhub_agents import canonical

from reviewhub.audit.record import record
from reviewhub.core.actors import Actor, policy
from reviewhub.core.clock import now
from reviewhub.core.errors import ReviewHubError
from reviewhub.core.transitions import move
from reviewhub.gates.ask_again import ask_again
from reviewhub.gates.errors import FactsChanged, PolicyChanged
from reviewhub.gates.hold import hold
from reviewhub.gates.kinds import CallDenied
from reviewhub.policies.evaluate import Resolved, evaluate
from reviewhub.policies.facts import call_facts
from reviewhub.reviews.asked import approval
from reviewhub.toolcalls.claims import facts_of, failed_checks
from reviewhub.toolcalls.locks import Locked
from reviewhub.toolcalls.models import Grant
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.toolcalls.settle import Answer, decide_row
from reviewhub.toolcalls.states import CALL_EDGES, GRANT_EDGES, CallState, GrantState
from reviewhub.tools.models import Tool


@dataclass(frozen=True, kw_only=True)
class Today:
    """A call as policy sees it now."""

    tool: Tool
    arguments: str
    answer: Resolved


def today(locked: Locked) -> Today:
    """What policy says now to the call's current version."""
    call = locked.call
    tool = Tool.objects.get(agent_id=call.agent_id, name=call.tool_name)
    arguments = arguments_of(call)
    known = call_facts(tool=tool, arguments=arguments, failed_checks=failed_checks(call.claims))
    facts = known.facts
    if known.errors:
        # The schema changed since the decision: what no longer fits it is held, as what cannot be checked.
        facts = replace(facts, schema_problem=known.errors[0]["message"])
    (answer,) = evaluate(
        workspace_id=call.workspace_id, agent=call.agent, environment=call.run.environment, calls=[facts]
    )
    return Today(tool=tool, arguments=arguments, answer=answer)


def facts_differ(
    *, locked: Locked, grant: Grant, facts: canonical.Tree | None, actor: Actor
) -> ReviewHubError | None:
    """A refusal when the declared facts are not those of the pause any more; people are asked again then."""
    declared = facts_of(locked.call.claims)
    if declared is None or facts is None or canonical.dumps(facts) == canonical.dumps(declared):
        return None
    move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
    reask(locked=locked, because="The facts that the agent declared have changed.", actor=actor)
    return FactsChanged()


def reconsider(*, locked: Locked, grant: Grant, actor: Actor) -> ReviewHubError | None:
    """A refusal when policy is stricter now than when the grant was given.

    Denied now: the grant is revoked and the call denied, whoever allowed it. Held now: a grant by policy is asked
    again, a grant by people stands.
    """
    found = today(locked)
    if found.answer.action == "deny":
        move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
        _deny(locked, found.answer)
        return PolicyChanged(f"Policy denies this call by now. {found.answer.text}")
    if found.answer.action == "require" and grant.by_policy:
        move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
        reask(locked=locked, because="Policy asks for an approval by now.", actor=actor)
        return PolicyChanged("Policy asks for an approval by now; people are asked.")
    return None


def reask(*, locked: Locked, because: str, actor: Actor) -> None:
    """Puts an allowed call before people (again), with what policy asks for today."""
    found = today(locked)
    needed = hold(found.answer, agent=locked.call.agent, because=because)
    asked = approval(
        answer=needed,
        tool=found.tool,
        effect=locked.call.effect,
        arguments=found.arguments,
        failed_checks=len(failed_checks(locked.call.claims)),
    )
    ask_again(locked=locked, asked=asked, because=because, actor=actor)


def _deny(locked: Locked, answer: Resolved) -> None:
    call = locked.call
    by = policy(answer.policy_version)
    move(call, to=CallState.DENIED, table=CALL_EDGES)
    decided = Answer(
        type="deny", to=CallState.DENIED, by=by, message=answer.text, policy_version=answer.policy_version
    )
    decide_row(call=call, answer=decided, at=now()).save(force_insert=True)
    record(
        "call.denied",
        workspace_id=call.workspace_id,
        actor=by,
        run_id=call.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallDenied(
            tool=call.tool_name,
            digest=call.digest,
            because=answer.text,
            policy_version=answer.policy_version,
        ),
    )
