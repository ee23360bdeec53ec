"""Small charts as SVG, drawn on the server. Shapes stretch with the page; every label is HTML, so text keeps its size.

A chart has a sentence as its name and its numbers in a table beside it. Every label is data and is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDE, HIGH = 600.0, 100.0
STEPS = (1, 2, 5)
# Seconds that people count in.
TIMES = (
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800,
    432_000, 864_000, 1_728_000,
)  # fmt: skip
LINES = 3
Point = tuple[float, float] | None


@dataclass(frozen=True)
class Series:
    """One line: the class of its colour, what it is called, and a value (or none) for each place."""

    tone: str
    name: str
    values: Sequence[float | None]


UNITS = {0: "", 3: " k", 6: " M", 9: " bn"}


def plot(
    series: Sequence[Series], *, ticks: Sequence[tuple[float, str]], across: Sequence[str], says: str
) -> SafeString:
    """Lines over equal steps; where a value is missing the line has a gap.

    Args:
        ticks: the marks of the axis, the lowest first; the last one is the top.
        across: what stands below, evenly spread.
        says: the chart as a sentence.
    """
    top = ticks[-1][0] or 1.0
    lines = format_html_join(
        "", '<path class="ln {}" d="{}"/>', ((one.tone, _path(one.values, top)) for one in series)
    )
    return _figure(lines, ticks, across, says)


def bars(
    stacks: Sequence[Sequence[tuple[str, float]]],
    *,
    ticks: Sequence[tuple[float, str]],
    across: Sequence[str],
    says: str,
) -> SafeString:
    """One bar for each place, of parts that stand on each other: class of the colour, and value."""
    top, wide = ticks[-1][0] or 1.0, WIDE / max(1, len(stacks))
    drawn: list[tuple[str, str, str, str, str]] = []
    for at, parts in enumerate(stacks):
        below = HIGH
        for tone, value in parts:
            high = min(value / top, 1.0) * HIGH
            below -= high
            if high > 0:
                drawn.append(
                    (tone, f"{(at + 0.16) * wide:.1f}", f"{below:.1f}", f"{wide * 0.68:.1f}", f"{high:.1f}")
                )
    rects = format_html_join("", '<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>', drawn)
    return _figure(rects, ticks, across, says)


def stack(parts: Iterable[tuple[str, float]], *, says: str, whole: float | None = None) -> SafeString:
    """One bar lying, of parts beside each other.

    Args:
        whole: what the full width is; all parts together when None.
    """
    given = [(tone, value) for tone, value in parts if value > 0]
    width = (whole if whole is not None else sum(value for _, value in given)) or 1.0
    left, drawn = 0.0, []
    for tone, value in given:
        wide = 200 * value / width
        drawn.append((tone, f"{left:.2f}", f"{max(wide - 0.8, 0.8):.2f}"))
        left += wide
    return format_html(
        '<svg class="hbar" viewBox="0 0 200 8" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        says,
        format_html_join("", '<rect class="{}" x="{}" width="{}" height="8"/>', drawn),
    )


def spark(values: Sequence[float | None]) -> SafeString:
    """A line without words, between its least and its most; nothing for fewer than two values."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return SafeString("")
    low, span = min(known), (max(known) - min(known)) or 1.0
    path = _path([None if value is None else (value - low) / span for value in values], 1.1, 100, 24)
    return format_html(
        '<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="ln" d="{}"/></svg>',
        path,
    )


def count_ticks(most: float) -> list[float]:
    """Marks of an axis for numbers up to `most`: 0, and three more at steps of 1, 2 or 5 (or a tenth of them)."""
    steps = (one * 10.0**power for power in count(-1) for one in STEPS)
    step = next(each for each in steps if each * LINES >= most)
    return [round(step * at, 1) for at in range(LINES + 1)]


def short(number: float) -> str:
    """A mark of an axis in few characters: from ten thousand on in k, M (millions) or bn (thousands of these)."""
    power = next((power for power in (9, 6, 3) if number >= max(10**power, 10_000)), 0)
    return f"{number / 10**power:g}{UNITS[power]}"


def time_ticks(most: float) -> list[float]:
    """The same for seconds, at steps that people count in."""
    step = next((time for time in TIMES if time * LINES >= most), most / LINES)
    return [float(step * at) for at in range(LINES + 1)]


def _figure(
    shapes: SafeString, ticks: Sequence[tuple[float, str]], across: Sequence[str], says: str
) -> SafeString:
    top = ticks[-1][0] or 1.0
    grid = format_html_join(
        "", '<path class="grid" d="M0 {}H600"/>', ((f"{HIGH - at / top * HIGH:.1f}",) for at, _ in ticks)
    )
    return format_html(
        '<figure class="plot"><div class="plot__y" aria-hidden="true">{}</div><svg viewBox="0 0 600 100"'
        ' preserveAspectRatio="none" role="img" aria-label="{}">{}{}</svg>'
        '<div class="plot__x" aria-hidden="true">{}</div></figure>',
        format_html_join("", "<span>{}</span>", ((said,) for _, said in reversed(ticks))),
        says,
        grid,
        shapes,
        format_html_join("", "<span>{}</span>", ((said,) for said in across)),
    )


def _path(values: Sequence[float | None], top: float, wide: float = WIDE, high: float = HIGH) -> str:
    """The line through the values; a value alone between gaps is a dash that can be seen."""
    step = wide / max(1, len(values) - 1)
    dash = wide / 75
    drawn, is_on = [], False
    for at, value in enumerate(values):
        if value is None:
            is_on = False
            continue
        x, y = at * step, high - min(value / top, 1.0) * high
        alone = not is_on and (at + 1 == len(values) or values[at + 1] is None)
        if alone:
            drawn.append(f"M{min(max(x - dash / 2, 0), wide - dash):.1f} {y:.1f}h{dash:.1f}")
        else:
            drawn.append(f"{'L' if is_on else 'M'}{x:.1f} {y:.1f}")
        is_on = True
    return "".join(drawn)
