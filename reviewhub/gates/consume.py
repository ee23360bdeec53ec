"""A process takes the right to run one tool call, at most once per attempt.

The idempotency key of a consume is random and lives only in the memory of the process that is about to run the tool. A
repeat with the same key answers the same; another key means another process, and for a `once` tool that is refused.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from reviewhub_agents import canonical

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import IdempotencyConflict, ReviewHubError
from reviewhub.core.idempotency import check_key
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.gates.errors import AlreadyConsumed, DigestMismatch, GrantExpired, NotAllowed
from reviewhub.gates.kinds import CallStarted
from reviewhub.gates.reconsider import differ, facts_differ, once_more, reask, reconsider, repeated_since
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.reviews.queries import newest_about
from reviewhub.runs.fence import check, check_not_halted
from reviewhub.toolcalls.ahead import read_ahead
from reviewhub.toolcalls.locks import Locked, lock, lock_call, lock_run
from reviewhub.toolcalls.models import Attempt, Grant, ToolCall
from reviewhub.toolcalls.queries import arguments_of, equal_elsewhere
from reviewhub.toolcalls.recovery import AtConsume, at_consume
from reviewhub.toolcalls.states import CALL_EDGES, GRANT_EDGES, CallState, GrantState
from reviewhub.tools.models import Effect


@dataclass(frozen=True, kw_only=True)
class Consumed:
    """What to run. `arguments` is exactly the text that was hashed, shown and decided."""

    arguments: str
    idempotency_key: str
    attempt: int


def consume(
    *,
    call_id: uuid.UUID,
    digest: str,
    key: str,
    facts: canonical.Tree | None = None,
    epoch: int | None = None,
    actor: Actor,
) -> Consumed:
    """Writes the intent to run a call, and hands out its arguments.

    Args:
        digest: of the call as the agent was told; it must be the one that was allowed.
        key: random, held in memory only.
        facts: what the agent declared at the pause, as it is now; when it differs, people are asked again.

    Raises:
        NotAllowed, DigestMismatch, AlreadyConsumed, GrantExpired, FactsChanged, PolicyChanged: the tool must not run.
        IdempotencyConflict: the key began this attempt with another digest or other facts.
        NotAnyMore, AgentStopped: the key was revoked, or the agent stopped, since the request came in.
        Superseded, StaleEpoch, RunEnded, Halted: the branch goes on elsewhere, not at all, or not now.
    """
    key_hash = hashlib.sha256(check_key(key).encode()).hexdigest()
    ahead = read_ahead(call_id)
    with transaction.atomic(durable=True):
        locked = replace(lock_call(call_id), ahead=ahead)
        outcome = consumed(locked, digest, key_hash, facts, epoch, actor)
        faults.point("consume.before_commit")
    faults.point("consume.after_commit")
    # A refusal that changed something (the grant expired, people are asked again) is committed before it is raised.
    if isinstance(outcome, ReviewHubError):
        raise outcome
    return outcome


def consumed(
    locked: Locked, digest: str, key_hash: str, facts: canonical.Tree | None, epoch: int | None, actor: Actor
) -> Consumed | ReviewHubError:
    """The same in the caller's transaction; a refusal that is returned, and not raised, has changed something."""
    call = locked.call
    still_may(actor, Action.RUN_WRITE, Target(workspace_id=call.workspace_id, agent_id=call.agent_id))
    attempt = one_or_none(call.attempts.filter(key_hash=key_hash))
    # A person may have said of the last attempt that it did not happen: then its key is spent like an older one's.
    under_way = attempt is not None and attempt.number == call.attempt and call.state != CallState.ALLOWED
    twins = _twins(locked)
    step = at_consume(
        state=call.state,
        effect=call.effect,
        same_key=under_way,
        spent_key=attempt is not None and not under_way,
        twins=[twin.state for twin in twins],
    )
    check(locked.branch, epoch)
    if step is AtConsume.SAME_ANSWER and attempt is not None:
        if digest != attempt.grant.digest or differ(call, facts):
            raise IdempotencyConflict
        return _handed_out(locked, attempt)
    if digest != call.digest:
        raise DigestMismatch(digest=call.digest)
    if step is AtConsume.ALREADY_CONSUMED:
        raise AlreadyConsumed(state=call.state)
    if step is AtConsume.TWIN_IN_DOUBT:
        raise NotAllowed("The same call may be running on another branch of this run.", state=call.state)
    if step is not AtConsume.FRESH_ATTEMPT:
        raise NotAllowed(f"This tool call is {call.state}.", state=call.state)
    check_not_halted(locked.branch)
    acknowledge(branch=locked.branch)
    if call.state == CallState.ALLOWED:
        return _use_grant(locked, twins, key_hash, facts, epoch, actor)
    last = call.attempts.order_by("-number")[0]
    refusal = once_more(locked=locked, grant=last.grant, actor=actor)
    return refusal or _start(locked, last.grant, key_hash, epoch, actor)


def _twins(locked: Locked) -> list[ToolCall]:
    """Equal `once` calls that acted on other branches. The run's lock keeps two branches from starting one at once."""
    if locked.call.effect != Effect.ONCE:
        return []
    locked.call.run = lock_run(locked.call.run_id)
    return equal_elsewhere(locked.call)


def _use_grant(
    locked: Locked,
    twins: Sequence[ToolCall],
    key_hash: str,
    facts: canonical.Tree | None,
    epoch: int | None,
    actor: Actor,
) -> Consumed | ReviewHubError:
    call = locked.call
    grant = one_or_none(lock(Grant.objects.filter(tool_call=call, state=GrantState.OPEN)))
    if grant is None or (grant.version, grant.digest) != (call.version, call.digest):
        raise NotAllowed("There is no grant for this call as it is now.")
    if grant.expires_at is not None and grant.expires_at <= now():
        move(grant, to=GrantState.EXPIRED, table=GRANT_EDGES)
        reask(locked=locked, because="The grant expired before it was used.", actor=actor)
        return GrantExpired()
    refusal = (
        facts_differ(locked=locked, grant=grant, facts=facts, actor=actor)
        or repeated_since(locked=locked, grant=grant, twins=twins, actor=actor)
        or reconsider(locked=locked, grant=grant, actor=actor)
    )
    if refusal is not None:
        return refusal
    move(grant, to=GrantState.CONSUMED, table=GRANT_EDGES, consumed_at=now())
    return _start(locked, grant, key_hash, epoch, actor)


def _start(locked: Locked, grant: Grant, key_hash: str, epoch: int | None, actor: Actor) -> Consumed:
    """The intent is on record before anything runs."""
    call = locked.call
    started = now()
    attempt = Attempt.objects.create(
        tool_call=call,
        number=call.attempt + 1,
        grant=grant,
        key_hash=key_hash,
        epoch=epoch or 0,
        started_at=started,
    )
    fields: dict[str, Any] = {
        "attempt": attempt.number,
        "started_at": started,
        "ended_at": None,
        "outcome_digest": "",
    }
    if call.state == CallState.STARTED:
        type(call).objects.filter(pk=call.pk).update(**fields)
        call.attempt = attempt.number
    else:
        move(call, to=CallState.STARTED, table=CALL_EDGES, **fields)
    request_id, number = newest_about(call.pk)
    record(
        "call.started",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        pause_id=call.pause_id,
        request_id=request_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallStarted(
            tool=call.tool_name,
            digest=call.digest,
            attempt=attempt.number,
            policy_version=call.policy_version,
            number=number,
        ),
    )
    return _handed_out(locked, attempt)


def _handed_out(locked: Locked, attempt: Attempt) -> Consumed:
    return Consumed(
        arguments=_arguments(locked, attempt.grant.version),
        idempotency_key=locked.call.idempotency_key,
        attempt=attempt.number,
    )


def _arguments(locked: Locked, version: int) -> str:
    ahead = locked.ahead
    return ahead.arguments if ahead and ahead.version == version else arguments_of(locked.call, version)
