"""The graph of a run, drawn on the server: one row for each line of the list beside it, the newest on top.

Lanes are branches, the band at the edge is the plan in force. Shapes tell before colours do: a step is a circle, a gate
a diamond, a rewrite a triangle, a version of the plan a square, folded checkpoints are dots.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from reviewhub.core.display import segments

ROW = 46  # pixels, as high as a row of the list beside it
LANE = 18
EDGE = 14
BAND = 28
LANES = 5
LABEL = 200  # characters

Shape: TypeAlias = Literal["step", "gate", "rewrite", "plan", "fold"]
Tone: TypeAlias = Literal["", "ok", "bad", "unk", "open", "run"]
Way: TypeAlias = Literal["main", "over", "fork"]
WAYS: dict[Way, str] = {"main": "0", "over": "1", "fork": "2"}


@dataclass(frozen=True)
class Dot:
    """One row of the graph.

    branch: the branch whose lane it is on; plan: the number of the plan's version in force there, None without a plan.
    href: where a click leads; label: what stands there, as somebody wrote it.
    """

    branch: uuid.UUID
    shape: Shape
    tone: Tone
    label: str
    href: str
    plan: int | None = None
    is_on: bool = False
    is_with: bool = False


@dataclass(frozen=True)
class Track:
    """A branch in the graph: how it is drawn, and the row of the checkpoint that it came from, if that is shown."""

    way: Way
    origin: int | None = None


def lanes(rows: Sequence[uuid.UUID], tracks: Mapping[uuid.UUID, Track]) -> dict[uuid.UUID, int]:
    """The lane of each branch that has a row: the leftmost one that is free from its top row to its origin.

    The branch that `tracks` names first has the first lane for itself. What does not fit shares the last lane.
    """
    reach: dict[uuid.UUID, tuple[int, int]] = {}
    for at, branch in enumerate(rows):
        top, _ = reach.get(branch, (at, at))
        reach[branch] = (top, at)
    taken: list[list[tuple[int, int]]] = [[] for _ in range(LANES)]
    found: dict[uuid.UUID, int] = {}
    for place, (branch, track) in enumerate(tracks.items()):
        if branch not in reach:
            continue
        top, bottom = reach[branch]
        bottom = max(bottom, track.origin if track.origin is not None else bottom)
        span = (0, len(rows)) if place == 0 else (top, bottom)
        free = (lane for lane in range(LANES) if all(span[1] < a or b < span[0] for a, b in taken[lane]))
        found[branch] = next(free, LANES - 1)
        taken[found[branch]].append(span)
    return found


def draw(dots: Sequence[Dot], tracks: Mapping[uuid.UUID, Track], *, said: str) -> SafeString:
    """The SVG beside the list. A fork leaves its parent at the checkpoint that it came from.

    Args:
        tracks: the branches, the oldest first.
        said: the graph in a sentence.
    """
    order = lanes([dot.branch for dot in dots], tracks)
    left = EDGE + (BAND if any(dot.plan is not None for dot in dots) else 0)
    places = [(left + LANE * order[dot.branch], ROW // 2 + ROW * at) for at, dot in enumerate(dots)]
    wide = left + LANE * max(order.values(), default=0) + EDGE
    high = ROW * len(dots)
    return format_html(
        '<svg class="graph__svg" width="{}" height="{}" viewBox="0 0 {} {}" role="group" aria-label="{}">{}{}{}</svg>',
        wide,
        high,
        wide,
        high,
        said,
        _bands(dots),
        format_html_join("", '<path class="edge e{}" d="{}"/>', _edges(dots, tracks, places)),
        format_html_join(
            "",
            '<a href="{}" tabindex="-1"><title>{}</title>{}</a>',
            (
                (dot.href, plain(dot.label), _node(dot, WAYS[tracks[dot.branch].way], *place))
                for dot, place in zip(dots, places, strict=True)
            ),
        ),
    )


def width(dots: Sequence[Dot], tracks: Mapping[uuid.UUID, Track]) -> tuple[int, bool]:
    """How many lanes there are, and whether there is a plan beside them: what the list leaves room for."""
    order = lanes([dot.branch for dot in dots], tracks)
    return max(order.values(), default=0) + 1, any(dot.plan is not None for dot in dots)


def plain(label: str) -> str:
    """A label as plain text: whatever is hidden in it, or looks like something else, is written out."""
    return segments.written(segments.split(label[:LABEL]))


def _bands(dots: Sequence[Dot]) -> SafeString:
    """The plan lane: one band for as many rows as one version is in force."""
    found, at = [], 0
    for version, group in groupby(dots, key=lambda dot: dot.plan):
        rows = len(list(group))
        if version is not None:
            found.append((version % 3 + 1, ROW * at + 3, ROW * rows - 6, ROW * at + 20, version))
        at += rows
    return format_html_join(
        "",
        '<rect class="band{}" x="0" y="{}" width="24" height="{}" rx="6"/>'
        '<text x="12" y="{}" text-anchor="middle">v{}</text>',
        found,
    )


def _edges(
    dots: Sequence[Dot], tracks: Mapping[uuid.UUID, Track], places: Sequence[tuple[int, int]]
) -> Iterable[tuple[str, str]]:
    rows: dict[uuid.UUID, list[int]] = {}
    for at, dot in enumerate(dots):
        rows.setdefault(dot.branch, []).append(at)
    for branch, own in rows.items():
        track = tracks[branch]
        x, top = places[own[0]]
        _, bottom = places[own[-1]]
        path = f"M{x} {top}V{bottom}"
        if track.origin is not None and track.origin > own[-1]:
            to_x, to_y = places[track.origin]
            bend = to_y - ROW // 2
            path += f"V{bend}C{x} {to_y} {to_x} {bend} {to_x} {to_y}"
        yield WAYS[track.way], path


def _node(dot: Dot, lane: str, x: int, y: int) -> SafeString:
    tone = f" n-{dot.tone}" if dot.tone and dot.tone != "run" else ""
    look = f"node l{lane}{tone}{' n-on' if dot.is_on else ''}{' n-with' if dot.is_with else ''}"
    halo = (
        format_html('<circle class="halo" cx="{}" cy="{}" r="10"/>', x, y)
        if dot.tone == "run"
        else mark_safe("")
    )
    return format_html("{}{}{}", halo, _shape(dot.shape, look, x, y), _cross(x, y, dot.tone == "bad"))


def _shape(shape: Shape, look: str, x: int, y: int) -> SafeString:
    if shape == "gate":
        turned = f"M{x} {y - 8}L{x + 8} {y}L{x} {y + 8}L{x - 8} {y}Z"
        return format_html('<path class="{}" d="{}"/>', look, turned)
    if shape == "rewrite":
        return format_html('<path class="{}" d="M{} {}l7.5 13h-15z"/>', look, x, y - 8)
    if shape == "plan":
        return format_html(
            '<rect class="{}" x="{}" y="{}" width="11" height="11" rx="2.5"/>', look, x - 5.5, y - 5.5
        )
    if shape == "fold":
        return format_html_join(
            "",
            '<circle class="{} n-fold" cx="{}" cy="{}" r="3"/>',
            ((look, x, y + off) for off in (-8, 0, 8)),
        )
    return format_html('<circle class="{}" cx="{}" cy="{}" r="5.5"/>', look, x, y)


def _cross(x: int, y: int, is_bad: bool) -> SafeString:
    if not is_bad:
        return mark_safe("")
    return format_html('<path class="glyph" d="M{} {}l4 4m0-4l-4 4"/>', x - 2, y - 2)
