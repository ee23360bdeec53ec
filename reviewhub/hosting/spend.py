"""A model call is added to what its run has spent; a run that has spent its limit is halted, and people are asked."""

from __future__ import annotations

from django.conf import settings
from django.db.models import F

from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.models import Record
from reviewhub.hosting.usage import cost_micros, money, usage_of
from reviewhub.runs.halt import halt
from reviewhub.runs.models import Branch, Halt, Run


def spend(*, branch: Branch, row: Record) -> None:
    """Counts a record that was made just now, in the caller's transaction, which holds the branch's lock.

    What was spent is spent: the answer is kept also when it goes beyond the limit, and nothing starts after it.
    """
    used = usage_of(key=row.key, value=row.value)
    if used is None:
        return
    cost = cost_micros(used, settings.MODEL_PRICES)
    Record.objects.filter(pk=row.pk).update(
        model=used.model,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_micros=cost,
    )
    Run.objects.filter(pk=branch.run_id).update(
        input_tokens=F("input_tokens") + used.input_tokens,
        output_tokens=F("output_tokens") + used.output_tokens,
        spent_micros=F("spent_micros") + cost,
    )
    run = Run.objects.only("spent_micros", "spend_limit_micros").get(pk=branch.run_id)
    if 0 < run.spend_limit_micros <= run.spent_micros:
        why = f"It has spent {money(run.spent_micros)} of {money(run.spend_limit_micros)}."
        halt(branch=branch, kind=Halt.Kind.SPEND, reason=why, actor=SYSTEM)
