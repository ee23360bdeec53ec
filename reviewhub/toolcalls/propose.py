"""Tool calls enter the ledger, exactly as the agent wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.note import note_calls
from reviewhub.toolcalls.models import CallVersion, Pause, ToolCall
from reviewhub.toolcalls.states import CallState, Mode


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One call as it was read, checked and hashed outside the transaction."""

    tool_name: str
    call_id: str
    effect: str
    time_limit_seconds: int
    arguments: str
    digest: str
    likeness: str
    claims: str
    words: str
    """What it is found by, as `toolcalls.words` makes it."""
    state: str = CallState.PROPOSED
    policy_version: int = 0
    because: str = "{}"
    sample_percent: int | None = None


def propose(
    *,
    run: Run,
    branch: Branch,
    pause: Pause | None,
    checkpoint: Checkpoint | None,
    proposals: Sequence[Proposal],
    actor: Actor,
    mode: str = Mode.GATED,
) -> list[ToolCall]:
    """Writes the calls and their first versions, in order.

    A proposal may already carry what policy answered (waiting, allowed or denied): the row is new, so nobody else can
    have moved it.
    """
    calls = [
        _call(run, branch, pause, checkpoint, position, proposal, mode)
        for position, proposal in enumerate(proposals)
    ]
    ToolCall.objects.bulk_create(calls)
    CallVersion.objects.bulk_create(
        CallVersion(
            tool_call=call,
            version=1,
            arguments=proposal.arguments,
            digest=proposal.digest,
            likeness=proposal.likeness,
            author_kind=actor.kind,
            author_id=actor.id,
            author_name=actor.name,
        )
        for call, proposal in zip(calls, proposals, strict=True)
    )
    note_calls(run, {call.pk: proposal.words for call, proposal in zip(calls, proposals, strict=True)})
    return calls


def _call(
    run: Run,
    branch: Branch,
    pause: Pause | None,
    checkpoint: Checkpoint | None,
    position: int,
    proposal: Proposal,
    mode: str,
) -> ToolCall:
    made = uuid7()
    return ToolCall(
        id=made,
        workspace_id=run.workspace_id,
        agent_id=run.agent_id,
        agent_owned_by_id=run.agent.owner_id,
        run=run,
        branch=branch,
        pause=pause,
        checkpoint=checkpoint,
        mode=mode,
        position=position,
        call_id=proposal.call_id,
        tool_name=proposal.tool_name,
        effect=proposal.effect,
        time_limit_seconds=proposal.time_limit_seconds,
        state=proposal.state,
        digest=proposal.digest,
        claims=proposal.claims,
        policy_version=proposal.policy_version,
        because=proposal.because,
        sample_percent=proposal.sample_percent,
        # The same for every attempt of this occurrence: what the tool's owner deduplicates by.
        idempotency_key=f"rh-{made}",
    )
