"""An agent reports what it did without asking: recorded, never waits, and looked at afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.budgets.rules import FieldWarning
from reviewhub.budgets.warned import warned
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import head_of
from reviewhub.checkpoints.save import save
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.core.idempotency import answered, claim
from reviewhub.gates.kinds import CallObserved
from reviewhub.gates.prepare import Prepared, prepare
from reviewhub.gates.rejected import hold_rejected
from reviewhub.gates.set_aside import setting_aside
from reviewhub.gates.unknown import open_unknown
from reviewhub.gates.within_limits import take_all, within_limits
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.reviews.draw import draw_sampled, draw_unasked
from reviewhub.reviews.tell_undecided import tell_undecided
from reviewhub.runs.fence import check
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.locks import Locked, lock_branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.propose import propose
from reviewhub.toolcalls.states import CallState, Mode
from reviewhub.tools.acts import act_of


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The calls as recorded, whether this request recorded them, and what the agent is warned of about its state."""

    branch: Branch
    checkpoint: Checkpoint | None
    calls: list[ToolCall]
    created: bool
    warnings: list[FieldWarning] = field(default_factory=list)


@setting_aside()
def observe(
    *, run: Run, agent: Agent, body: wire.ObservationBody, body_digest: str, key: str, actor: Actor
) -> Observed:
    """Records calls that ran, with how they ended.

    What policy would have held or denied is stored all the same, marked as run without approval, and drawn for
    post-review at once, with high severity unless it only reads. Of what a rule observes a sample is drawn, too.

    Raises:
        Invalid, Superseded, StaleEpoch, RunEnded, StaleHead, NotAnyMore, AgentStopped, IdempotencyConflict: as for a
            pause.
    """
    _check_are_tools(body.tool_calls)
    branch = run.branches.filter(name=body.branch).first()
    if branch is None:
        raise NotFound(f"This run has no branch {body.branch!r}.")
    scope = f"observe:{agent.pk}:{run.pk}"
    before = answered(scope=scope, key=key, body_digest=body_digest)
    if before is not None:
        return _as_recorded(branch, before)
    made = draft(branch=branch, message=body.checkpoint) if body.checkpoint else None
    prepared = prepare(run=run, agent=agent, calls=body.tool_calls, may_wait=False)
    with transaction.atomic(durable=True):
        kept = claim(scope=scope, key=key, body_digest=body_digest)
        if kept.answer is not None:
            return _as_recorded(branch, kept.answer)
        branch = lock_branch(branch.pk)
        check(branch, body.epoch)
        still_may(actor, Action.RUN_WRITE, Target(workspace_id=run.workspace_id, agent_id=run.agent_id))
        acknowledge(branch=branch)
        checkpoint = save(branch=branch, draft=made, actor=actor) if made else head_of(branch)
        calls = _record(run, branch, checkpoint, prepared, body.tool_calls, actor)
        kept.keep(status=201, answer=",".join(str(call.pk) for call in calls))
    found = warned(agent_id=agent.pk, draft=made)
    return Observed(branch=branch, checkpoint=checkpoint, calls=calls, created=True, warnings=found)


def _check_are_tools(calls: Sequence[wire.ObservedCall]) -> None:
    """An act (`rh.plan`, `rh.verdict/…`) runs only if the server lets it: it is on record then, not said afterwards."""
    for at, call in enumerate(calls):
        if act_of(call.tool) is not None:
            raise Invalid.at(
                f"/tool_calls/{at}/tool", "is one of the server's own names, and no tool that ran", "reserved"
            )


def _as_recorded(branch: Branch, ids: str) -> Observed:
    calls = ToolCall.objects.filter(pk__in=ids.split(",")).order_by("position")
    return Observed(branch=branch, checkpoint=None, calls=list(calls), created=False)


def _record(
    run: Run,
    branch: Branch,
    checkpoint: Checkpoint | None,
    prepared: Sequence[Prepared],
    given: Sequence[wire.ObservedCall],
    actor: Actor,
) -> list[ToolCall]:
    prepared, weighings = within_limits(run=run, agent=run.agent, prepared=prepared)
    prepared = hold_rejected(run=run, agent=run.agent, prepared=prepared)
    proposals = [
        replace(one.proposal, state=call.outcome.status.value)
        for one, call in zip(prepared, given, strict=True)
    ]
    calls = propose(
        run=run,
        branch=branch,
        pause=None,
        checkpoint=checkpoint,
        proposals=proposals,
        actor=actor,
        mode=Mode.OBSERVED,
    )
    take_all(calls=calls, weighings=weighings)
    for call, one, told in zip(calls, prepared, given, strict=True):
        _end(run, branch, call, one, told, actor)
    return calls


def _end(
    run: Run, branch: Branch, call: ToolCall, one: Prepared, told: wire.ObservedCall, actor: Actor
) -> None:
    unasked = one.answer.action in ("require", "deny")
    fields: dict[str, Any] = {
        "ran_without_approval": unasked,
        "started_at": told.started_at,
        "ended_at": told.ended_at or now(),
        "error": told.outcome.error,
    }
    for name in ("result", "partial"):
        if told.outcome.was_given(name):
            fields[name] = canonical.dumps(getattr(told.outcome, name))
    ToolCall.objects.filter(pk=call.pk).update(**fields)
    for name, value in fields.items():
        setattr(call, name, value)
    record(
        "call.observed",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallObserved(
            tool=call.tool_name,
            digest=call.digest,
            status=call.state,
            ran_without_approval=unasked,
            because=one.answer.text,
            policy_version=one.answer.policy_version,
            checkpoint=call.checkpoint.state_hash if call.checkpoint else "",
        ),
        arguments=one.shown.text,
    )
    tell_undecided(call=call, undecided=one.answer.undecided, policy_version=one.answer.policy_version)
    _look_later(run, call, one, unasked)
    if call.state == CallState.UNKNOWN:
        because = told.outcome.error or "The agent could not say whether it happened."
        open_unknown(locked=Locked(branch=branch, pause=None, call=call), because=because, actor=actor)


def _look_later(run: Run, call: ToolCall, one: Prepared, unasked: bool) -> None:
    # Of an unknown outcome people say what happened, and see the call then.
    if not unasked and (call.sample_percent is None or call.state == CallState.UNKNOWN):
        return
    text = one.answer.text
    if unasked:
        denied = one.answer.action == "deny"
        draw_unasked(
            call=call,
            run=run,
            agent=run.agent,
            tool=one.tool,
            shown=one.shown,
            because=text,
            was_denied=denied,
        )
    else:
        draw_sampled(call=call, run=run, agent=run.agent, tool=one.tool, shown=one.shown, because=text)
