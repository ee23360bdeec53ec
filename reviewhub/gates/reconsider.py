"""Between a decision and its use the world may have changed: facts, policy, time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reviewhub_agents import canonical

from reviewhub.audit.record import record
from reviewhub.checkpoints.queries import hash_of
from reviewhub.core.actors import Actor, policy
from reviewhub.core.clock import now
from reviewhub.core.errors import ReviewHubError
from reviewhub.core.transitions import move
from reviewhub.gates.ask_again import ask_again
from reviewhub.gates.errors import FactsChanged, NotAllowed, PolicyChanged
from reviewhub.gates.hold import hold
from reviewhub.gates.kinds import CallDenied
from reviewhub.gates.let_stand import lapsed
from reviewhub.gates.unknown import open_unknown
from reviewhub.gates.within_limits import start_within, take
from reviewhub.limits.by_now import weighed_now
from reviewhub.policies.evaluate import Resolved
from reviewhub.reviews.asked import approval
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.claims import facts_of, failed_checks
from reviewhub.toolcalls.locks import Locked
from reviewhub.toolcalls.models import Grant, ToolCall
from reviewhub.toolcalls.queries import equal_elsewhere
from reviewhub.toolcalls.settle import Answer, decide_row
from reviewhub.toolcalls.states import CALL_EDGES, GRANT_EDGES, CallState, GrantState
from reviewhub.toolcalls.today import Today
from reviewhub.tools.models import Effect
from reviewhub.tools.shown import shown


def differ(call: ToolCall, facts: canonical.Tree | None) -> bool:
    """Whether facts, if they are said at all, are others than the agent declared at the pause, if it did."""
    declared = facts_of(call.claims)
    return declared is not None and facts is not None and canonical.dumps(facts) != canonical.dumps(declared)


def facts_differ(
    *, locked: Locked, grant: Grant, facts: canonical.Tree | None, actor: Actor
) -> ReviewHubError | None:
    """A refusal when the declared facts are not those of the pause any more; people are asked again then."""
    if not differ(locked.call, facts):
        return None
    move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
    reask(locked=locked, because="The facts that the agent declared have changed.", actor=actor)
    return FactsChanged()


def repeated_since(
    *, locked: Locked, grant: Grant, twins: Sequence[ToolCall], actor: Actor
) -> ReviewHubError | None:
    """A refusal when an equal call acted on another branch and whoever allowed this one was not told.

    The grant is revoked and people are asked again, now with that fact.
    """
    if not twins:
        return None
    asked = ReviewRequest.objects.filter(pk=grant.decision.request_id) if grant.decision.request_id else ()
    told = {call.pk for request in asked for call in request.repeats.all()}
    news = [twin for twin in twins if twin.pk not in told]
    if not news:
        return None
    move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
    reask(locked=locked, because="", actor=actor)
    return FactsChanged(f"{repeat_fact(news)} People are asked.")


def reconsider(*, locked: Locked, grant: Grant, actor: Actor) -> ReviewHubError | None:
    """A refusal when policy is stricter now than when the grant was given.

    Denied now: the grant is revoked and the call denied, whoever allowed it. Held now: a grant by policy is asked
    again, unless the standing approval that gave it still holds, and one by silence, unless silence still lets it run;
    a grant by people stands.
    """
    weighed = weighed_now(locked.call, locked.ahead)
    found = weighed.found
    if found.answer.action == "deny":
        move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
        _deny(locked, found.answer)
        return PolicyChanged(f"Policy denies this call by now. {found.answer.text}")
    why = _lapse(locked, grant, found)
    if why is not None:
        move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
        reask(locked=locked, because=_by_now(why), actor=actor)
        return PolicyChanged("Policy asks for an approval by now; people are asked.")
    start_within(locked.call, weighed)
    return None


def once_more(*, locked: Locked, grant: Grant, actor: Actor) -> ReviewHubError | None:
    """A refusal when a call that failed, or runs perhaps, must not start again with the grant of its last attempt.

    A failed call that took nothing of its limits any more waits for room there. Where policy is stricter by now, a
    failed call is denied or put before people, as one that was not used yet would be (`reconsider`). Of a started one
    nobody knows whether it happened: people say that first, and then it is reconsidered.
    """
    call, weighed = locked.call, weighed_now(locked.call, locked.ahead)
    answer, has_failed = weighed.found.answer, locked.call.state == CallState.FAILED
    if has_failed and answer.layer == "limit":
        why = f"This tool call failed and cannot be tried again just now. {answer.text}"
        return NotAllowed(why, state=call.state)
    lapse = _lapse(locked, grant, weighed.found)
    is_held = lapse is not None
    if answer.action != "deny" and not is_held:
        start_within(call, weighed)
        return None
    verb = "denies this call" if answer.action == "deny" else "asks for an approval"
    because = f"Policy {verb} by now. {answer.text}"
    if not has_failed:
        move(call, to=CallState.UNKNOWN, table=CALL_EDGES)
        open_unknown(locked=locked, because=f"It was to be run again. {because}", actor=actor)
    elif is_held:
        # It waits, and takes its part of the limits again: failed, it had given that back.
        take(calls=[call], weighings=[weighed.weighing])
        reask(locked=locked, because=_by_now(lapse or ""), actor=actor)
    else:
        _deny(locked, answer)
    return PolicyChanged(because)


def _lapse(locked: Locked, grant: Grant, found: Today) -> str | None:
    """Why a grant that nobody gave lapses where policy asks for an approval today, in words (maybe none); None where it
    stands, or people gave it."""
    needed = found.answer.requirement
    if found.answer.action != "require" or needed is None:
        return None
    if grant.by_policy:
        return lapsed(locked, found)
    if grant.decision.type != "expire" or needed.on_timeout == "allow":
        return None
    return "Nobody answered in time, and that is no yes any more."


def _by_now(why: str) -> str:
    """Why people are asked about what policy, or a standing approval that lapsed for this reason, had let run."""
    return " ".join(filter(None, ["Policy asks for an approval by now.", why]))


def repeat_fact(twins: Sequence[ToolCall]) -> str:
    """What people must know about equal calls on other branches."""
    words = {
        CallState.SUCCEEDED: "has run",
        CallState.STARTED: "is running",
        CallState.UNKNOWN: "may have run",
    }
    said = dict.fromkeys(f"{words[CallState(twin.state)]} on branch {twin.branch.name}" for twin in twins)
    return f"The same call {' and '.join(said)} of this run."


def reask(*, locked: Locked, because: str, actor: Actor) -> None:
    """Puts an allowed call before people (again), with what policy asks for today and which equal calls have acted."""
    found = weighed_now(locked.call, locked.ahead).found
    twins = equal_elsewhere(locked.call) if locked.call.effect == Effect.ONCE else []
    because = " ".join(filter(None, [because, repeat_fact(twins) if twins else ""]))
    needed = hold(found.answer, agent=locked.call.agent, because=because)
    asked = approval(
        answer=needed,
        tool=found.tool,
        effect=locked.call.effect,
        shown=shown(found.tool, found.arguments),
        failed_checks=len(failed_checks(locked.call.claims)),
        repeats=tuple(twin.pk for twin in twins),
    )
    asked = replace(asked, stored=asked.stored.model_copy(update={"then": needed.then}))
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
            checkpoint=hash_of(call.checkpoint_id) or "",
        ),
    )
