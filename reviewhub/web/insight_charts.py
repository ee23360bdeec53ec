"""The charts of the insights page, each with its sentence."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from reviewhub.core.display.durations import length
from reviewhub.core.display.shares import percent
from reviewhub.insights.afterwards import agreement
from reviewhub.insights.figures import Depth, Figures, Outcomes
from reviewhub.insights.people import Reviewer
from reviewhub.insights.tables import in_seconds, time_words
from reviewhub.insights.work import Work
from reviewhub.web.charts import Series, bars, count_ticks, plot, short, spark, stack, time_ticks
from reviewhub.web.progress import SHORT

# Colour, column and word of each outcome, in the order of the bars.
OUTCOMES = (
    ("f5", "approved", "approved"),
    ("f2", "edited", "edited"),
    ("f4", "rejected", "rejected"),
    ("f3", "responded", "answered in its place"),
    ("f6", "expired", "expired"),
    ("f0", "withdrawn", "withdrawn"),
    ("f0", "cancelled", "cancelled"),
)
LEGEND = OUTCOMES[:5]
WORK = (("f5", _("useful")), ("f2", _("redone")), ("f4", _("recovery")), ("f-edge", _("checkpoints")))
"""How the time of agents is drawn, apart from the outcomes above it on the page, and what each part is called."""
ALIKE = 0.02
"""Below this share of change nothing is called better or worse."""
MARKS = 5


@dataclass(frozen=True)
class Kpi:
    """One figure with its change against as many days before, and its line over the period."""

    name: str
    value: str
    change: str
    tone: str
    spark: SafeString


def kpis(found: Figures, steps: Sequence[tuple[date, Outcomes]], work: Work, work_before: Work) -> list[Kpi]:
    """The figures at the head of the page."""
    total, before = found.total, found.before
    lines = [one for _, one in steps]
    made = [
        _time_kpi(name, total.times[at], before.times[at], [one.times[at] for one in lines])
        for at, name in enumerate(("Median time to decision", "p95 time to decision"))
    ]
    made += [
        _share_kpi(name, total.rate(of), before.rate(of), [one.rate(of) for one in lines], is_good=is_good)
        for name, of, is_good in (
            ("Expired without an answer", "expired", False),
            ("Edited before approval", "edited", None),
        )
    ]
    return [*made, _share_kpi("Forward progress", _telling(work), _telling(work_before), [], is_good=True)]


def time_chart(steps: Sequence[tuple[date, Outcomes]]) -> SafeString:
    """Median and p95 over the period."""
    series = [
        Series(tone, name, [in_seconds(one.times[at]) for _, one in steps])
        for at, name, tone in ((1, "p95", "k2"), (0, "median", "k1"))
    ]
    most = max((value for one in series for value in one.values if value is not None), default=1.0)
    known = [one for _, one in steps if one.answered]
    says = "Nothing was decided in these days"
    if known:
        first, last = known[0].times, known[-1].times
        says = f"Median went from {_ms(first[0])} to {_ms(last[0])}, and p95 from {_ms(first[1])} to {_ms(last[1])}"
    ticks = [(at, length(at) if at else "0") for at in time_ticks(most)]
    return plot(series, ticks=ticks, across=_marks([day for day, _ in steps]), says=says)


def queue_chart(hours: Sequence[Depth]) -> SafeString:
    """Waiting and expired by the hour of the day; nothing when there was neither."""
    most = max(one.waiting + one.expired for one in hours)
    if not most:
        return SafeString("")
    deepest = max(hours, key=lambda one: one.waiting)
    says = f"The queue is deepest at {deepest.hour:02}:00 UTC, with {deepest.waiting:.1f} waiting on average"
    if not deepest.waiting:
        says = "Nothing waited at the end of an hour"
    ticks = [(at, short(at)) for at in count_ticks(most)]
    stacks = [[("f1", one.waiting), ("f4", one.expired)] for one in hours]
    return bars(stacks, ticks=ticks, across=["00", "06", "12", "18", "24"], says=says)


def agreement_chart(found: Mapping[date, Counter[str]]) -> SafeString:
    """How much of what was looked at afterwards was fine; the axis begins where there is something to see."""
    values = [agreement(one) for one in found.values()]
    known = [value for value in values if value is not None]
    if not known:
        return SafeString("")
    low = 0.9 if min(known) >= 0.9 else 0.5 if min(known) >= 0.5 else 0.0
    span = 1 - low
    ticks = [(at * span / 2, f"{(low + at * span / 2) * 100:.0f}%") for at in range(3)]
    series = [Series("k1", "agreement", [None if value is None else value - low for value in values])]
    says = f"Fine were {percent(known[0])} at first and {percent(known[-1])} at last"
    return plot(series, ticks=ticks, across=_marks(list(found)), says=says)


def outcome_bars(found: Mapping[Any, Outcomes]) -> list[SafeString]:
    """One lying bar for each row of the table."""
    return [
        stack(
            [(tone, one.counts[name]) for tone, name, _ in OUTCOMES],
            says=", ".join(
                f"{percent(one.counts[name] / one.ended)} {said}"
                for _, name, said in OUTCOMES
                if one.counts[name]
            ),
        )
        for one in found.values()
    ]


def edit_bars(paths: Iterable[tuple[str, str, int]]) -> list[SafeString]:
    """How often a place was changed, beside the most changed one."""
    given = list(paths)
    most = max((calls for _, _, calls in given), default=1)
    return [stack([("f2", calls)], says=f"{calls} calls", whole=most) for _, _, calls in given]


def people_bars(found: Sequence[Reviewer]) -> list[SafeString]:
    """The load: votes beside those of the busiest, by answer."""
    most = max((one.votes for one in found), default=1)
    return [
        stack(
            [(tone, one.counts[name]) for tone, name, _ in OUTCOMES[:4]],
            says=", ".join(
                f"{one.counts[name]} {said}" for _, name, said in OUTCOMES[:4] if one.counts[name]
            ),
            whole=most,
        )
        for one in found
    ]


def work_bars(found: Mapping[uuid.UUID, Work], waits: Mapping[uuid.UUID, Outcomes]) -> list[SafeString]:
    """Where the time of each agent went; empty for those that no worker carries on."""
    drawn = []
    for key in dict.fromkeys([*found, *waits]):
        one = found.get(key, Work())
        times = (one.useful, one.replay, one.recovery, one.overhead)
        parts = [(tone, time) for (tone, _), time in zip(WORK, times, strict=True)]
        says = ", ".join(f"{name} {time_words(time)}" for (_, name), time in zip(WORK, times, strict=True))
        drawn.append(stack(parts, says=says) if one.progress is not None else SafeString(""))
    return drawn


def _time_kpi(name: str, now: float | None, before: float | None, line: Sequence[float | None]) -> Kpi:
    change, tone = "", "mute"
    if now is not None and before:
        change, faster = "about the same", before - now
        if abs(faster) > ALIKE * before:
            change = f"{_ms(abs(faster))} {'faster' if faster > 0 else 'slower'}"
            tone = "good" if faster > 0 else "bad"
    return Kpi(name, _ms(now), change, tone, spark(line))


def _share_kpi(
    name: str, now: float | None, before: float | None, line: Sequence[float | None], *, is_good: bool | None
) -> Kpi:
    """is_good: whether more of it is better; None when it is neither."""
    change, tone = "", "mute"
    if now is not None and before is not None:
        more = (now - before) * 100
        change = "about the same"
        if abs(more) >= 0.1:
            change = f"{abs(more):.1f} points {'more' if more > 0 else 'less'}"
            if is_good is not None:
                tone = "good" if (more > 0) == is_good else "bad"
    return Kpi(name, percent(now), change, tone, spark(line))


def _telling(work: Work) -> float | None:
    """Forward progress, unless there was too little work for it to say anything."""
    return work.progress if work.counted >= SHORT else None


def _ms(time: float | None) -> str:
    return time_words(in_seconds(time))


def _marks(days: Sequence[date]) -> list[str]:
    """Some of the days, evenly spread, with the first and the last."""
    many = min(len(days), MARKS)
    chosen = [days[at * (len(days) - 1) // max(1, many - 1)] for at in range(many)]
    return [f"{day.day} {day:%b}" for day in chosen]
