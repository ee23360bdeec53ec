"""What the open state of a run weighs: a table by field, and the bytes of the last steps as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from reviewhub.budgets.line import Step
from reviewhub.budgets.queries import budget_of
from reviewhub.budgets.rules import FieldWarning, shortened
from reviewhub.budgets.weigh import FieldWeight, Weight, weigh
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.display.arguments import pointer
from reviewhub.gates.set_aside import setting_aside

SHOWN = 20
LONG = 200  # characters of a name
HEIGHT = 40
WIDTH = 240
FEWEST = 20  # columns for which there is room, so that a single one is no wall


@dataclass(frozen=True)
class Row:
    """A field with what is warned of it."""

    name: str
    path: str
    """Where it is, as a JSON pointer; empty for a name that is too long for an address."""
    weight: FieldWeight
    bar: SafeString
    warned: list[FieldWarning]


@dataclass(frozen=True)
class Scales:
    """What the page shows of a weight."""

    weight: Weight
    rows: list[Row]
    columns: SafeString
    steps: int
    since: int | None
    written: int


def scales(checkpoint: Checkpoint | None) -> Scales | None:
    """A state on the scales; None when there is none, or when it cannot be read back."""
    if checkpoint is None:
        return None
    try:
        with setting_aside():
            found = weigh(checkpoint=checkpoint, budget=budget_of(checkpoint), most=SHOWN)
    except (CorruptCheckpoint, BlobsAway):
        return None
    return Scales(
        weight=found,
        rows=[_row(one, found.warnings) for one in found.fields],
        columns=_columns(found.steps),
        steps=len(found.steps),
        since=found.steps[0].checkpoint.number if len(found.steps) > 1 else None,
        written=sum(step.written for step in found.steps),
    )


def _row(one: FieldWeight, warned: Sequence[FieldWarning]) -> Row:
    name = shortened(one.name)
    path = pointer("", one.name) if len(one.name) <= LONG else ""
    return Row(name, path, one, _bar(one), [warning for warning in warned if warning.field == name])


def _bar(one: FieldWeight) -> SafeString:
    return format_html(
        '<svg class="hbar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="f-rest" width="100" height="8"/><rect class="f1" width="{}" height="8"/></svg>',
        max(one.share, 1),
    )


def _columns(steps: Sequence[Step]) -> SafeString:
    """A column for each checkpoint, as high as the bytes that it wrote; row and blobs in two colours."""
    top = max((step.written for step in steps), default=0) or 1
    wide = WIDTH / max(len(steps), FEWEST)
    parts = []
    for at, step in enumerate(steps):
        left, high, row = at * wide + wide / 10, HEIGHT * step.written / top, HEIGHT * step.row / top
        words = f"Checkpoint {step.checkpoint.number}: {intcomma(step.written)} bytes"
        parts += [
            (tone, f"{left:.2f}", f"{HEIGHT - end:.2f}", f"{wide * 0.8:.2f}", f"{tall:.2f}", words)
            for tone, end, tall in (("f2", high, high - row), ("f1", row, row))
        ]
    total = sum(step.written for step in steps)
    return format_html(
        '<svg class="written" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        WIDTH,
        HEIGHT,
        f"The last {len(steps)} checkpoints wrote {intcomma(total)} bytes, at most {intcomma(top)} at once",
        format_html_join(
            "",
            '<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
            parts,
        ),
    )
