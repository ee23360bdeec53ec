"""Between the engine's own words and the messages of the API, which both stores speak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from reviewhub_agents import canonical, wire

from .errors import (
    ApprovalNeeded,
    AskedAgain,
    Fenced,
    GraphError,
    LetGo,
    PlanChanged,
    ReplayDiverged,
    StateError,
)
from .hints import Saved, hints
from .store import (
    Call,
    ChildEnd,
    Decided,
    Declaration,
    Intent,
    Kept,
    Plan,
    PlanStep,
    Proposal,
    Signals,
    Snapshot,
    Status,
    Stop,
    WrittenAs,
)
from .verifiers import Came

FENCED = frozenset(
    {
        "superseded",
        "stale_epoch",
        "run_ended",
        "branch_paused",
        "branch_held",
        "stale_head",
        "already_consumed",
        "agent_stopped",
        "outcome_conflict",
    }
)
AGAIN = frozenset({"not_allowed", "grant_expired", "facts_changed", "policy_changed"})


def translated(code: str, message: str, extra: Mapping[str, Any]) -> BaseException | None:
    """The engine's error for a refusal of the hub; None for one that the engine has no word for."""
    if code == "approval_needed":
        return ApprovalNeeded(extra["tool"], extra["arguments_text"])
    if code in FENCED:
        return Fenced(message)
    if code == "halted":
        return LetGo(message)
    if code in AGAIN:
        return AskedAgain(message)
    if code in {"idempotency_conflict", "digest_mismatch"}:
        return ReplayDiverged(message)
    if code == "stale_plan":
        return PlanChanged(message)
    if code in {"illegal_transition", "no_such_child"}:
        return GraphError(message)
    if code == "schema_conflict":
        return GraphError(message)
    if code == "state_misfit":
        return StateError(message)
    return None


def child_end(child: wire.ChildOut) -> ChildEnd:
    """How a child that is over ended."""
    assert child.outcome is not None, "of a child that is over"
    is_done = child.outcome == wire.ChildOutcome.DONE
    return ChildEnd(
        child=child.key,
        outcome=child.outcome.value,
        result=canonical.dumps(child.result) if is_done else None,
        error=child.error,
    )


def registration(declaration: Declaration) -> tuple[str, int, wire.StateSchemaIn]:
    """What is registered: name, version and schema."""
    tree = canonical.reread(declaration.schema)
    assert isinstance(tree, dict), "the schema of a model"
    known = declaration.written_as
    return known.name, known.version, wire.StateSchemaIn(json_schema=tree)


def checkpoint_save(
    *,
    branch: str,
    parent: str | None,
    node: str,
    step: int,
    state: str,
    epoch: int | None,
    written_as: WrittenAs | None,
    after: Saved | None = None,
) -> wire.CheckpointSave:
    """A snapshot to save as the new head; as what changed, where `after` says what the parent is and both know their
    fields."""
    given = _checkpoint(parent=parent, node=node, step=step, state=state, written_as=written_as, after=after)
    return wire.CheckpointSave(**given, branch=branch, epoch=epoch)


def checkpoint_in(
    *, parent: str | None, snapshot: Snapshot, written_as: WrittenAs | None
) -> wire.CheckpointIn:
    """A snapshot as part of a pause: the one that is saved, or the whole of it."""
    if snapshot.id:
        return wire.CheckpointIn(id=UUID(snapshot.id))
    given = _checkpoint(
        parent=parent,
        node=snapshot.node,
        step=snapshot.step,
        state=snapshot.state,
        written_as=written_as,
    )
    return wire.CheckpointIn(**given)


def _checkpoint(
    *,
    parent: str | None,
    node: str,
    step: int,
    state: str,
    written_as: WrittenAs | None,
    after: Saved | None = None,
) -> dict[str, Any]:
    given: dict[str, Any] = {"parent": _id(parent), "node": node, "step": step}
    if after is not None and (found := hints(after.fields, state)):
        given |= found | {"parent_hash": after.hash}
    else:
        tree = canonical.reread(state)
        assert isinstance(tree, dict), "a state is the text of a model"
        given["state"] = tree
    if written_as is not None:
        given["state_schema"] = wire.StateSchemaNamed(name=written_as.name, version=written_as.version)
    return given


def pause_body(
    *,
    branch: str,
    checkpoint: wire.CheckpointIn,
    proposals: list[Proposal],
    kind: wire.ResumeKind,
    epoch: int | None,
) -> wire.PauseBody:
    """A pause at a checkpoint: one that is saved, or one to save along.

    A plain read names no checkpoint: a process that takes over may stand on a later one when it asks again.
    """
    at: dict[str, Any] = {}
    if not all(proposal.is_plain_read for proposal in proposals):
        at["checkpoint"] = checkpoint
    return wire.PauseBody(
        branch=branch,
        **at,
        tool_calls=[_tool_call(proposal) for proposal in proposals],
        resume=wire.Resume(kind=kind),
        epoch=epoch,
    )


def asked_digest(body: wire.PauseBody) -> str:
    """The digest of what is asked for: another process asks the same in another epoch, and stands on what was saved."""
    tree = body.to_tree()
    return canonical.body_digest(
        {name: value for name, value in tree.items() if name not in {"epoch", "checkpoint"}}
    )


def outcome_body(*, attempt: int, status: Status, result: str | None, error: str) -> wire.OutcomeBody:
    """How an attempt ended."""
    given: dict[str, Any] = {"status": wire.OutcomeStatus(status), "attempt": attempt}
    if result is not None:
        given["result"] = canonical.reread(result)
    if error:
        given["error"] = error
    return wire.OutcomeBody(**given)


def plan_body(
    *, branch: str, intent: Intent, base: int | None, epoch: int | None, call: str | None = None
) -> wire.PlanBody:
    """A version of a plan to write."""
    kind = "failures" if intent.failures else "contradicted" if intent.contradicted else "agent"
    kind = "person" if kind == "agent" and intent.asked else kind
    why = {
        "kind": kind,
        "failures": intent.failures,
        "assumption": intent.contradicted,
        "text": intent.because,
    }
    given: dict[str, Any] = {
        "branch": branch,
        "steps": [_plan_step(step) for step in intent.steps],
        "assumptions": [{"id": one, "text": text} for one, text in intent.assumptions.items()],
        "why": {name: value for name, value in why.items() if value},
        "base": base,
        "epoch": epoch,
        "call": call,
    }
    return wire.PlanBody.from_text(
        canonical.dumps({name: value for name, value in given.items() if value is not None})
    )


def planned(arguments: str) -> tuple[int, Intent]:
    """What the arguments of an `rh.plan` mean: the version it is made from, and what is to be written."""
    tree: Any = canonical.plain(canonical.reread(arguments))
    why = tree.get("why", {})
    intent = Intent(
        steps=tuple(_step_in(step) for step in tree["steps"]),
        assumptions={one["id"]: one["text"] for one in tree.get("assumptions", ())},
        because=why.get("text", ""),
        failures=why.get("failures"),
        contradicted=why.get("assumption"),
        asked=why.get("kind") == "person",
    )
    return tree["base"], intent


def verdict_body(came: Came) -> wire.VerdictBody:
    """What a verifier said."""
    return wire.VerdictBody.from_text(canonical.dumps(asdict(came)))


def signals_of(out: wire.SignalsOut) -> Signals:
    """What speaks against a plan, as the hub sees it."""
    return Signals(
        version=out.version,
        failures=out.failures,
        contradicted=out.contradicted,
        because=out.because,
        refused=out.refused,
        asked=out.asked,
    )


def marks_body(*, step: str, status: str, note: str, epoch: int | None) -> wire.MarksBody:
    """How far a step is."""
    tree = {"marks": [{"step": step, "status": status, "note": note}], "epoch": epoch}
    return wire.MarksBody.from_text(canonical.dumps(tree))


def plan_of(out: wire.PlanOut) -> Plan:
    """A version as the hub sees it."""
    return Plan(
        version=out.version,
        steps=tuple(_step_of(step) for step in out.steps),
        assumptions={one.id: one.text for one in out.assumptions},
    )


def has_step(plan: Plan | None, step: str) -> bool:
    """Whether a plan has a step of this id, sub-steps too."""
    todo = list(plan.steps) if plan else []
    while todo:
        one = todo.pop()
        if one.id == step:
            return True
        todo += one.steps
    return False


def snapshot_of(out: wire.CheckpointOut) -> Snapshot:
    """A checkpoint that was read with its state."""
    return Snapshot(
        id=str(out.id),
        node=out.node,
        step=out.step,
        state=canonical.dumps(out.state),
        written_as=written_as(out),
    )


def written_as(out: wire.CheckpointOut) -> WrittenAs | None:
    """What a checkpoint was saved as; None before states had versions."""
    known = out.state_schema
    return None if known is None else WrittenAs(name=known.name, version=known.version)


def stop_of(out: wire.PauseOut, proposals: list[Proposal] | None = None) -> Stop:
    """A pause as the hub sees it.

    Args:
        proposals: what the step asked for now; ReplayDiverged when the pause was made for something else.
    """
    if proposals is not None:
        asked = [(proposal.key, proposal.tool) for proposal in proposals]
        if asked != [(call.call_id, call.tool) for call in out.tool_calls]:
            raise ReplayDiverged("this step asked for other calls before")
    at = str(out.checkpoint.id) if out.checkpoint else ""
    return Stop(id=str(out.id), calls=tuple(call_of(call) for call in out.tool_calls), checkpoint=at)


def kept_text(kept: Kept) -> str:
    """How a recorded result and what it was asked for are stored."""
    return canonical.dumps({"of": kept.digest, "value": canonical.reread(kept.value)})


def kept_of(text: str) -> Kept:
    """The reverse of `kept_text`."""
    tree = canonical.reread(text)
    if not isinstance(tree, dict) or not isinstance(tree.get("of"), str) or "value" not in tree:
        raise ReplayDiverged("a record of this branch was not written by this engine")
    return Kept(digest=str(tree["of"]), value=canonical.dumps(tree["value"]))


def _tool_call(proposal: Proposal) -> wire.ToolCallIn:
    tree: dict[str, Any] = {
        "call_id": proposal.key,
        "tool": proposal.tool,
        "arguments_text": proposal.arguments,
        "effect": proposal.effect,
        "reason": proposal.reason,
        "evidence": list(proposal.evidence),
        "checks": list(proposal.checks),
        "facts": proposal.facts,
    }
    if proposal.allowed_decisions is not None:
        tree["allowed_decisions"] = list(proposal.allowed_decisions)
    if proposal.deadline is not None:
        tree["deadline"] = proposal.deadline
    return wire.ToolCallIn.from_text(canonical.dumps(tree))


def _plan_step(step: PlanStep) -> dict[str, Any]:
    tree: dict[str, Any] = {"id": step.id, "title": step.title}
    if step.status is not None:
        tree["status"] = step.status
    if step.steps:
        tree["steps"] = [_plan_step(each) for each in step.steps]
    return tree


def _step_in(tree: Any) -> PlanStep:
    inner = tuple(_step_in(each) for each in tree.get("steps", ()))
    return PlanStep(id=tree["id"], title=tree["title"], status=tree.get("status"), steps=inner)


def _step_of(out: wire.PlanStepOut) -> PlanStep:
    inner = tuple(_step_of(each) for each in out.steps)
    return PlanStep(id=out.id, title=out.title, status=out.status.value, steps=inner)


def call_of(out: wire.ToolCallOut) -> Call:
    """A call as its agent sees it."""
    decision = None
    if out.decision is not None:
        decision = Decided(
            type=out.decision.type.value,
            by_kind=out.decision.by.kind.value,
            by_name=out.decision.by.name,
            message=out.decision.message,
            value=canonical.dumps(out.decision.value) if out.decision.was_given("value") else None,
            edited=out.decision.edited,
        )
    return Call(
        id=str(out.id),
        key=out.call_id,
        tool=out.tool,
        state=out.state.value,
        digest=out.digest,
        effect=out.effect.value,
        attempt=out.attempt,
        decision=decision,
        model_text=out.model_text,
        result=canonical.dumps(out.result) if out.was_given("result") else None,
        error=out.error or "",
        partial=canonical.dumps(out.partial) if out.was_given("partial") else None,
    )


def _id(text: str | None) -> UUID | None:
    return UUID(text) if text is not None else None
