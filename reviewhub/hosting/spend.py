"""A model call is added to what its run has spent; a run that has spent its limit is halted, and people are asked.

The limit of a run that a person or a program started holds for it and its child runs together.
"""

from __future__ import annotations

from django.conf import settings
from django.db.models import F

from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.models import Record
from reviewhub.hosting.usage import cost_micros, money, usage_of
from reviewhub.runs.children import family_spent
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
    run = Run.objects.select_related("root").get(pk=branch.run_id)
    for one in filter(None, (run, run.root)):
        if one.spend_limit_micros and (spent := family_spent(one)) >= one.spend_limit_micros:
            whose = "It has" if one is run else f"{one} and its child runs have"
            why = f"{whose} spent {money(spent)} of {money(one.spend_limit_micros)}."
            halt(branch=branch, kind=Halt.Kind.SPEND, reason=why, actor=SYSTEM)
