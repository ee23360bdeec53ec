"""An agent asks: one request, one transaction.

The body is read, the checkpoint encoded and policy asked before the transaction starts. In it: the idempotency key, the
branch's lock and fence, the checkpoint, the calls with what policy answered, the requests for people, the events.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.budgets.rules import FieldWarning
from reviewhub.budgets.warned import warned
from reviewhub.checkpoints.draft import Draft, draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import head_of
from reviewhub.checkpoints.save import save
from reviewhub.core import clock, faults
from reviewhub.core.actors import Actor
from reviewhub.core.errors import NotFound
from reviewhub.core.idempotency import answered, claim
from reviewhub.core.transitions import move
from reviewhub.gates.acts import check_true
from reviewhub.gates.answered import write_answers
from reviewhub.gates.begin import Begin, begin_within
from reviewhub.gates.consume import Consumed
from reviewhub.gates.errors import BranchPaused
from reviewhub.gates.fresh import Fresh
from reviewhub.gates.kinds import PauseOpened
from reviewhub.gates.let_stand import let_stand
from reviewhub.gates.not_too_many import not_too_many
from reviewhub.gates.open_verdicts import hold_for_webhooks, open_verdicts
from reviewhub.gates.prepare import Prepared, asked_again, prepare
from reviewhub.gates.rejected import hold_rejected
from reviewhub.gates.repeats import hold_repeats
from reviewhub.gates.set_aside import setting_aside
from reviewhub.gates.shadow import shadow
from reviewhub.gates.within_limits import take, within_limits
from reviewhub.policies.queries import current_number
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BRANCH_EDGES, BranchState
from reviewhub.standing.use import use
from reviewhub.toolcalls.locks import lock_branch, lock_run
from reviewhub.toolcalls.models import Pause
from reviewhub.toolcalls.propose import propose
from reviewhub.toolcalls.states import CallState, PauseState


@dataclass(frozen=True, kw_only=True)
class Paused:
    """The pause, whether this request made it, and what the agent is warned of about the state that it saved."""

    pause: Pause
    created: bool
    warnings: list[FieldWarning] = field(default_factory=list)
    begun: Consumed | None = None
    fresh: Fresh | None = None
    """What the pause consists of, where nothing has happened to it since."""


@setting_aside()
def pause(
    *,
    run: Run,
    agent: Agent,
    body: wire.PauseBody,
    body_digest: str,
    key: str,
    actor: Actor,
    begin: Begin | None = None,
) -> Paused:
    """Stops a branch at tool calls, or lets them run at once where policy says so.

    Args:
        run: one of the agent's own; the caller checked that.
        body_digest: of the canonical body, for the idempotency key: a repeat finds the pause that it made.
        key: the caller's idempotency key.
        begin: the first call begins in the same commit, if all may run at once.

    Raises:
        Invalid: something in the body is not allowed, with its path.
        Superseded, StaleEpoch, RunEnded, StaleHead, BranchPaused: the branch is not where the agent thinks.
        NotAnyMore, AgentStopped: the key was revoked, or the agent stopped, since the request came in.
        IdempotencyConflict: the key was used with another body.
        TooManyWaiting: more requests of the agent would wait than may; nothing is stored.
    """
    branch = run.branches.filter(name=body.branch).first()
    if branch is None:
        raise NotFound(f"This run has no branch {body.branch!r}.")
    scope = f"pause:{agent.pk}:{run.pk}"
    before = answered(scope=scope, key=key, body_digest=body_digest)
    if before is not None:
        return Paused(pause=Pause.objects.get(pk=uuid.UUID(before)), created=False)
    made = draft(branch=branch, message=body.checkpoint) if body.checkpoint else None
    prepared = prepare(run=run, agent=agent, calls=body.tool_calls, branch=branch)
    with transaction.atomic(durable=True):
        kept = claim(scope=scope, key=key, body_digest=body_digest)
        if kept.answer is not None:
            return Paused(pause=Pause.objects.get(pk=uuid.UUID(kept.answer)), created=False)
        fresh = _write(run, agent, branch.pk, body, prepared, made, actor)
        row = fresh.pause
        begun = _begun(row, begin, actor)
        kept.keep(status=201, answer=str(row.pk))
        faults.point("pause.before_commit")
    faults.point("pause.after_commit")
    if begun is not None:
        faults.point("consume.after_commit")
    shadow(pause=row, agent=agent, environment=run.environment, calls=[one.facts for one in prepared])
    return Paused(
        pause=row,
        created=True,
        warnings=warned(agent_id=agent.pk, draft=made),
        begun=begun,
        fresh=fresh if begun is None else None,
    )


def _begun(row: Pause, begin: Begin | None, actor: Actor) -> Consumed | None:
    """The right to run the first call; None when somebody still has to answer one, or it may not run."""
    if begin is None or row.state != PauseState.SETTLED:
        return None
    first = row.tool_calls.order_by("position").filter(position=0, state=CallState.ALLOWED).first()
    if first is None:
        return None
    return begin_within(call_id=first.pk, digest=first.digest, begin=begin, actor=actor)


def _write(
    run: Run,
    agent: Agent,
    branch_id: uuid.UUID,
    body: wire.PauseBody,
    prepared: Sequence[Prepared],
    made: Draft | None,
    actor: Actor,
) -> Fresh:
    branch = lock_branch(branch_id)
    check(branch, body.epoch)
    still_may(actor, Action.RUN_WRITE, Target(workspace_id=run.workspace_id, agent_id=run.agent_id))
    if branch.state == BranchState.PAUSED:
        raise BranchPaused
    acknowledge(branch=branch)
    locked_run = lock_run(run.pk)
    if current_number(run.workspace_id) != prepared[0].by.number:
        prepared = asked_again(run=run, agent=agent, prepared=prepared)
    check_true(branch=branch, prepared=prepared)
    prepared = hold_repeats(branch=branch, agent=agent, prepared=prepared)
    prepared, weighings = within_limits(run=run, agent=agent, prepared=prepared)
    prepared = hold_rejected(run=run, agent=agent, prepared=prepared)
    prepared, standing = let_stand(run=run, agent=agent, prepared=prepared)
    # Last: whatever would run now, by a rule or by a standing approval, a webhook may have to pass first.
    prepared = hold_for_webhooks(run=run, agent=agent, prepared=prepared)
    checkpoint = save(branch=branch, draft=made, actor=actor) if made else head_of(branch)
    at = clock.now()
    row = _pause_row(run, branch, checkpoint, body, prepared, at)
    calls = propose(
        run=run,
        branch=branch,
        pause=row,
        checkpoint=checkpoint,
        proposals=[one.proposal for one in prepared],
        actor=actor,
    )
    take(calls=calls, weighings=weighings)
    for call, one in zip(calls, standing, strict=True):
        if one is not None and call.state == CallState.ALLOWED:
            use(standing=one, call=call)
    record(
        "pause.opened",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        pause_id=row.pk,
        agent_id=agent.pk,
        data=_opened(prepared, checkpoint),
    )
    written = write_answers(run=run, agent=agent, calls=calls, prepared=prepared, actor=actor, at=at)
    open_verdicts(calls, judges="proposal")
    if row.state == PauseState.WAITING:
        not_too_many(agent=agent, more=0, policy=prepared[0].by.policy)
        # The one who waits holds nothing: the lease is released, and its owner fenced, in the same transaction.
        move(
            branch,
            to=BranchState.PAUSED,
            table=BRANCH_EDGES,
            epoch=branch.epoch + 1,
            lease_owner="",
            lease_until=None,
        )
        derive(run.pk, locked=locked_run)
    return Fresh(
        pause=row,
        branch=branch,
        checkpoint=checkpoint,
        calls=calls,
        arguments=[one.proposal.arguments for one in prepared],
        written=written,
    )


def _pause_row(
    run: Run,
    branch: Branch,
    checkpoint: Checkpoint | None,
    body: wire.PauseBody,
    prepared: Sequence[Prepared],
    at: datetime,
) -> Pause:
    waiting = sum(one.proposal.state == CallState.WAITING for one in prepared)
    return Pause.objects.create(
        workspace_id=run.workspace_id,
        run=run,
        branch=branch,
        checkpoint=checkpoint,
        state=PauseState.WAITING if waiting else PauseState.SETTLED,
        open_calls=waiting,
        settled_at_once=not waiting,
        settled_at=None if waiting else at,
        resume_kind=body.resume.kind.value,
    )


def _opened(prepared: Sequence[Prepared], checkpoint: Checkpoint | None) -> PauseOpened:
    states = [one.proposal.state for one in prepared]
    return PauseOpened(
        calls=len(states),
        waiting=states.count(CallState.WAITING),
        allowed=states.count(CallState.ALLOWED),
        denied=states.count(CallState.DENIED),
        checkpoint=str(checkpoint.pk) if checkpoint else "",
        state_hash=checkpoint.state_hash if checkpoint else "",
        policy_version=prepared[0].answer.policy_version,
    )
