"""What a run has spent and how long it has worked, beside what it may, as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reviewhub.gates.overtime import time_worked
from reviewhub.hosting.usage import MICROS, money
from reviewhub.runs.models import Branch, Run


@dataclass(frozen=True, kw_only=True)
class Spent:
    """`spend` and `minutes` are the limits as the form has them; empty is none."""

    input_tokens: int
    output_tokens: int
    money: str
    money_limit: str
    worked: str
    worked_limit: str
    spend: str
    minutes: str

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to say beside the time."""
        return bool(self.input_tokens or self.output_tokens or self.money_limit or self.worked_limit)


def spent_of(run: Run, branches: Sequence[Branch]) -> Spent:
    """The figures of a run that has these branches; reads its pauses and halts."""
    limit, seconds = run.spend_limit_micros, run.time_limit_seconds
    return Spent(
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        money=money(run.spent_micros),
        money_limit=money(limit) if limit else "",
        worked=_time(time_worked(run.pk, branches=branches).total_seconds()),
        worked_limit=_time(seconds) if seconds else "",
        spend=f"{limit / MICROS:g}" if limit else "",
        minutes=f"{seconds / 60:g}" if seconds else "",
    )


def _time(seconds: float) -> str:
    whole = int(seconds)
    if 0 < seconds < 1:
        return "less than 1 s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"
