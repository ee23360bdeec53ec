"""What a state weighs, as the API shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from reviewhub_agents import wire

from reviewhub.budgets import rules
from reviewhub.budgets.kept import Kept
from reviewhub.budgets.line import Step
from reviewhub.budgets.weigh import FieldWeight, Weight
from reviewhub.runs.models import Branch

Message = TypeVar("Message", bound=wire.Wire)


def budget_out(branch: Branch, weight: Weight | None, kept: Kept) -> wire.BudgetOut:
    """A branch's newest state on the scales; empty before the first one is saved."""
    whole = wire.Kept(checkpoints=kept.checkpoints, bytes=kept.bytes)
    given: dict[str, Any] = {"run": branch.run_id, "branch": branch.name, "kept": whole}
    if weight is None:
        return wire.BudgetOut(**given, fields=[], steps=[], warnings=[])
    return wire.BudgetOut(
        **given,
        checkpoint=weight.checkpoint.pk,
        bytes=weight.bytes,
        tokens=weight.tokens,
        fields=[_field(one) for one in weight.fields],
        others=weight.others,
        others_bytes=weight.others_bytes,
        steps=[_step(one) for one in weight.steps],
        warnings=warnings_out(weight.warnings),
    )


def warnings_out(found: Iterable[rules.FieldWarning]) -> list[wire.FieldWarning]:
    """Warnings about fields that are above their budget."""
    return [
        wire.FieldWarning(field=one.field, why=one.why, bytes=one.bytes, limit=one.limit, share=one.share)
        for one in found
    ]


def with_warnings(out: Message, found: Iterable[rules.FieldWarning]) -> Message:
    """The answer to what saved a state, with what its writer is warned of; without the member if that is nothing."""
    shown = warnings_out(found)
    return out.model_copy(update={"warnings": shown}) if shown else out


def _field(one: FieldWeight) -> wire.FieldWeight:
    maybe = {"limit": one.limit or None, "grown": one.grown}
    if one.times is not None:
        maybe |= {"read_us": one.times.read_us, "write_us": one.times.write_us}
    return wire.FieldWeight(
        field=rules.shortened(one.name),
        bytes=one.bytes,
        share=one.share,
        tokens=one.tokens,
        **{name: value for name, value in maybe.items() if value is not None},
    )


def _step(one: Step) -> wire.StepWritten:
    known = {} if one.blobs is None else {"blobs": one.blobs}
    row = one.checkpoint
    return wire.StepWritten(
        checkpoint=row.pk, number=row.number, branch_name=row.branch.name, row=one.row, **known
    )
