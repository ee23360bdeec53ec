"""Runs, branches and checkpoints as the API shows them: reads only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from reviewhub_agents import canonical, wire

from reviewhub.checkpoints.difference import Difference
from reviewhub.checkpoints.models import Checkpoint, StateSchema
from reviewhub.checkpoints.queries import Gone, Kind, kinds_of
from reviewhub.checkpoints.typed import kept_misfits
from reviewhub.core.display import masking, secrets
from reviewhub.core.keyset import Page
from reviewhub.plans.queries import numbers_in_force
from reviewhub.resumptions.models import Failure, Resumption
from reviewhub.resumptions.queries import failures_of
from reviewhub.runs.children import children_of
from reviewhub.runs.fence import continue_from
from reviewhub.runs.models import Branch, Child, Halt, Run
from reviewhub.runs.queries import open_halts
from reviewhub.toolcalls.models import Pause, ToolCall
from reviewhub.toolcalls.states import PauseState


def run_rows(page: Page[Run]) -> wire.RunList:
    """Runs in a list for people; of a page whose rows know their workspace and agent."""
    fields: dict[str, Any] = {"items": [_row(run) for run in page.rows]}
    if page.next:
        fields["next"] = page.next
    return wire.RunList(**fields)


def _row(run: Run) -> wire.RunRow:
    fields: dict[str, Any] = {
        "id": run.pk,
        "agent": run.agent.name,
        "environment": run.environment,
        "state": run.state,
        "title": secrets.masked(run.title),
        "on_behalf_of": run.on_behalf_of,
        "created_at": run.created_at,
        "url": _url(run),
    }
    if run.external_id:
        fields["external_id"] = run.external_id
    if run.ended_at:
        fields["ended_at"] = run.ended_at
    return wire.RunRow(**fields)


def _url(run: Run) -> str:
    return f"{settings.PUBLIC_URL}/{run.workspace.slug}/runs/{run.pk}"


def run_out(run: Run, *, for_people: bool = False) -> wire.RunOut:
    """A run with its branches, the oldest first. People get it without secrets, its own agent as it was written."""
    branches = list(Branch.objects.filter(run=run).order_by("created_at", "id"))
    value, words = (masking.masked, secrets.masked) if for_people else (canonical.reread, str)
    fields: dict[str, Any] = {
        "id": run.pk,
        "agent": run.agent.name,
        "environment": run.environment,
        "state": run.state,
        "title": words(run.title),
        "on_behalf_of": run.on_behalf_of,
        "labels": value(run.labels),
        "retention_class": run.retention_class,
        "input": value(run.input),
        "result": value(run.result),
        "error": words(run.error),
        "branches": branches_out(branches),
        "spent": wire.SpentOut(
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            spent_micros=run.spent_micros,
            spend_limit_micros=run.spend_limit_micros,
            time_limit_seconds=run.time_limit_seconds,
        ),
        "graph": run.graph,
        "children": [child_out(row, for_people=for_people) for row in children_of(branches)],
        "failures": [_failure(row, words(row.error)) for row in failures_of(run.pk, most=20)],
        "created_at": run.created_at,
        "url": _url(run),
    }
    if run.external_id:
        fields["external_id"] = run.external_id
    if run.parent_id:
        fields["parent"] = run.parent_id
    if run.ended_at:
        fields["ended_at"] = run.ended_at
    main = next((branch for branch in branches if branch.name == "main"), None)
    onward = continue_from(main) if main else None
    if onward:
        fields["continue_from"] = wire.ContinueFrom.from_tree(onward)
    return wire.RunOut(**fields)


def child_out(row: Child, *, for_people: bool = False) -> wire.ChildOut:
    """A child run as the branch that started it sees it; people get it without secrets."""
    value, words = (masking.masked, secrets.masked) if for_people else (canonical.reread, str)
    fields: dict[str, Any] = {
        "key": row.key,
        "graph": row.graph,
        "run": row.branch.run_id,
        "branch": row.branch_id,
        "state": row.branch.state,
        "error": words(row.error),
    }
    if row.outcome:
        fields |= {"outcome": row.outcome, "result": value(row.result)}
    return wire.ChildOut(**fields)


def branches_out(branches: Iterable[Branch]) -> list[wire.BranchOut]:
    """Branches with the pause that each waits at, and the version of the plan that is in force there."""
    rows = list(branches)
    waiting = Pause.objects.filter(branch__in=rows, state=PauseState.WAITING)
    pauses = dict(waiting.values_list("branch_id", "pk"))
    plans = numbers_in_force(row.pk for row in rows)
    halts = {halt.branch_id: halt for halt in open_halts(rows)}
    return [_branch(row, pauses.get(row.pk), plans.get(row.pk), halts.get(row.pk)) for row in rows]


def _branch(row: Branch, pause: object, plan: int | None, halt: Halt | None) -> wire.BranchOut:
    fields: dict[str, Any] = {"id": row.pk, "name": row.name, "state": row.state, "epoch": row.epoch}
    if row.head:
        fields["head"] = row.head
    if row.lease_until:
        fields["lease_until"] = row.lease_until
    if pause:
        fields["pause"] = pause
    onward = continue_from(row)
    if onward:
        fields["continue_from"] = wire.ContinueFrom.from_tree(onward)
    if plan:
        fields["plan"] = plan
    if halt:
        fields["halt"] = wire.HaltOut(
            kind=halt.kind, reason=halt.reason, by=halt.by_name, since=halt.began_at
        )
    return wire.BranchOut(**fields)


def _failure(row: Failure, error: str) -> wire.FailureOut:
    fields: dict[str, Any] = {
        "branch": row.resumption.branch.name,
        "attempt": row.attempt,
        "error": error,
        "at": row.at,
    }
    if row.again_at:
        fields["again_at"] = row.again_at
    return wire.FailureOut(**fields)


def checkpoints_out(rows: Iterable[Checkpoint]) -> list[wire.CheckpointOut]:
    """Checkpoints without their states."""
    listed = list(rows)
    kinds = kinds_of(listed)
    return [_checkpoint(row, kinds[row.pk]) for row in listed]


def checkpoint_out(row: Checkpoint, *, fields: dict[str, str] | None = None) -> wire.CheckpointOut:
    """A checkpoint without its state, with its field digests where they are asked for."""
    return _checkpoint(row, kinds_of([row])[row.pk], fields=fields)


def _checkpoint(row: Checkpoint, kind: Kind, *, fields: dict[str, str] | None = None) -> wire.CheckpointOut:
    shown: dict[str, Any] = {
        "id": row.pk,
        "run": row.run_id,
        "branch": row.branch_id,
        "branch_name": row.branch.name,
        "number": row.number,
        "kind": kind,
        "hash": row.state_hash,
        "node": row.node,
        "step": row.step,
        "size": row.raw_length,
        "reason": row.reason,
        "author": row.author_name,
        "created_at": row.created_at,
    }
    if row.parent_id:
        shown["parent"] = row.parent_id
    plan = canonical.reread(row.plan)
    if isinstance(plan, dict):
        shown["plan"] = wire.PlanRef.from_tree(plan)
    if row.state_schema is not None:
        shown["state_schema"] = wire.StateSchemaRef(
            name=row.state_schema.name, version=row.state_schema.version
        )
    if row.misfits:
        shown["misfits"] = misfits_out(row)
    if fields is not None:
        shown["fields"] = fields
    return wire.CheckpointOut(**shown)


def removed_out(gone: Iterable[Gone]) -> list[wire.RemovedOut]:
    """What was removed of a run."""
    return [
        wire.RemovedOut(
            branch=one.branch,
            first=one.first,
            last=one.last,
            count=one.count,
            kind=one.removal.kind,
            because=one.removal.reason,
            digest=one.removal.end.digest,
            removed_at=one.removal.created_at,
        )
        for one in gone
    ]


def checkpoint_ref(row: Checkpoint) -> wire.CheckpointRef:
    """A checkpoint that was saved along with something else."""
    fields: dict[str, Any] = {"id": row.pk, "hash": row.state_hash}
    if row.misfits:
        fields["misfits"] = misfits_out(row)
    return wire.CheckpointRef(**fields)


def misfits_out(row: Checkpoint) -> list[wire.FaultOut]:
    """What of a checkpoint's state did not fit when it was saved."""
    return [wire.FaultOut(**one.error()) for one in kept_misfits(row)]


def schema_out(row: StateSchema) -> wire.StateSchemaOut:
    """A schema as registered."""
    fields: dict[str, Any] = {
        "name": row.name,
        "version": row.version,
        "json_schema": canonical.reread(row.schema),
        "fingerprint": row.fingerprint,
        "registered_at": row.registered_at,
    }
    return wire.StateSchemaOut(**fields)


def difference_out(found: Difference) -> wire.DifferenceOut:
    """What differs between two checkpoints."""
    items = []
    for change in found.changes:
        sides = {"before": change.before, "after": change.after}
        given = {name: canonical.reread(text) for name, text in sides.items() if text is not None}
        items.append(wire.DifferenceItem(path=change.path, kind=change.kind, **given))
    return wire.DifferenceOut(changes=items, more=found.more)


def resumption_out(row: Resumption) -> wire.ResumptionOut:
    """A branch that its agent may go on with."""
    run = row.branch.run
    fields: dict[str, Any] = {
        "id": row.pk,
        "run": run.pk,
        "branch": row.branch_id,
        "branch_name": row.branch.name,
        "state": row.state,
        "created_at": row.created_at,
    }
    if run.external_id:
        fields["external_id"] = run.external_id
    if row.pause_id and row.pause:
        calls = ToolCall.objects.filter(pause_id=row.pause_id).values_list("pk", "state")
        fields |= {
            "pause": row.pause_id,
            "pause_state": row.pause.state,
            "call_states": {str(pk): state for pk, state in calls},
        }
    return wire.ResumptionOut(**fields)
