"""The branches of a run as lanes, drawn on the server: one row per checkpoint, the newest first."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import Kind

ROW = 46  # pixels, as high as a row of the list beside it
LANE = 18
LEFT = 14
LANES = 5


@dataclass(frozen=True)
class Line:
    """One row: the checkpoint, its lane, and what happened there."""

    checkpoint: Checkpoint
    lane: int
    is_on: bool
    title: str
    tags: list[tuple[str, str, str, int]]  # tone, icon, word, how many
    kind: Kind = "save"


def lanes(checkpoints: list[Checkpoint], branch_order: list[uuid.UUID]) -> dict[uuid.UUID, int]:
    """The lane of each branch: the oldest branch is the first; what does not fit shares the last."""
    return {branch: min(at, LANES - 1) for at, branch in enumerate(branch_order)}


def draw(lines: list[Line]) -> SafeString:
    """The SVG beside the list. A fork leaves its parent at the checkpoint that it came from."""
    place = {line.checkpoint.pk: (at, line.lane) for at, line in enumerate(lines)}
    edges, nodes = [], []
    for at, line in enumerate(lines):
        x, y = _xy(at, line.lane)
        parent = line.checkpoint.parent_id
        if parent in place:
            px, py = _xy(*place[parent])
            path = (
                f"M{x} {y}V{py}"
                if px == x
                else f"M{x} {y}V{py - ROW // 2}C{x} {py} {px} {py - ROW // 2} {px} {py}"
            )
            edges.append((min(line.lane, 2), path))
        elif parent is not None:
            edges.append((min(line.lane, 2), f"M{x} {y}V{ROW * len(lines)}"))
        kind = "n-on" if line.is_on else "n-open" if any(tag[0] == "warn" for tag in line.tags) else ""
        nodes.append((min(line.lane, 2), kind, x, y))
    return format_html(
        '<svg class="graph__svg" width="{}" height="{}" aria-hidden="true">{}{}</svg>',
        LEFT * 2 + LANE * LANES,
        ROW * len(lines),
        format_html_join("", '<path class="edge e{}" d="{}"/>', edges),
        format_html_join("", '<circle class="node l{} {}" cx="{}" cy="{}" r="5"/>', nodes),
    )


def _xy(at: int, lane: int) -> tuple[int, int]:
    return LEFT + lane * LANE, ROW // 2 + at * ROW
