"""The timeline of a run page: what stands in it one by one, what is folded, and where each line leads."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import F, OuterRef, Subquery
from django.utils.safestring import SafeString

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.outline import Span, outline
from reviewhub.checkpoints.queries import Gone, Kind, in_run, kinds_of
from reviewhub.plans.models import PlanVersion
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import OPEN_BRANCH, BranchState
from reviewhub.toolcalls.models import ToolCall
from reviewhub.web.plan_view import Version, versions
from reviewhub.web.run_graph import Dot, Shape, Tone, Track, draw, plain, width

BRANCHES = 40
GATES = 60
TROUBLES = 40
PLANS = 20
OPENED = 40
WORDS = 90
TAGS = {
    "waiting": ("warn", "gate", "Waits"),
    "succeeded": ("ok", "check", "Succeeded"),
    "failed": ("bad", "x", "Failed"),
    "denied": ("bad", "x", "Denied"),
    "unknown": ("warn", "unk", "Unknown"),
    "started": ("info", "play", "Running"),
    "allowed": ("info", "clock", "May run"),
    "skipped": ("", "right", "Skipped"),
}
TONES: tuple[tuple[str, Tone], ...] = (
    ("waiting", "open"),
    ("unknown", "unk"),
    ("failed", "bad"),
    ("denied", "bad"),
    ("started", "run"),
    ("succeeded", "ok"),
)
NOTED = ("waiting", "failed", "denied", "unknown", "started", "allowed")
"""States of calls for which a checkpoint is never folded."""
CARRIED = ("forked", "rewritten")
"""Versions of a plan that a branch begins with; the line of its first checkpoint tells of it."""


@dataclass(frozen=True)
class Asked:
    """What an address says of the timeline: the checkpoint whose state is open, the one it is compared with, a fold.

    page: the path of the run's page.
    """

    page: str
    checkpoint: uuid.UUID | None = None
    other: uuid.UUID | None = None
    opened: Span | None = None

    @property
    def fold(self) -> str:
        """The open fold as an address says it."""
        return f"{self.opened.branch_id}:{self.opened.last}" if self.opened else ""

    @property
    def address(self) -> str:
        """The address of the page that shows this."""
        said = {"checkpoint": self.checkpoint, "with": self.other, "open": self.fold}
        return f"{self.page}?" + urlencode({name: str(value) for name, value in said.items() if value})


@dataclass(frozen=True)
class Gate:
    """A call at the checkpoint about which people were asked."""

    number: int
    sentence: str
    state: str
    by: str
    editor: str


@dataclass(frozen=True)
class Line:
    """One line: a checkpoint, a fold of some, or a version of the plan."""

    branch: Branch
    at: datetime
    href: str
    checkpoint: Checkpoint | None = None
    fold: Span | None = None
    plan: Version | None = None
    title: str = ""
    is_ours: bool = False
    """Whether the title is made of our own words."""
    gate: Gate | None = None
    tags: list[tuple[str, str, str, int]] = field(default_factory=list)  # tone, icon, word, how many
    kind: Kind = "save"
    tone: Tone = ""
    compare: str = ""
    """Where the comparison with the open checkpoint is."""
    is_on: bool = False
    is_with: bool = False
    is_thinned: bool = False
    """Whether some of the folded checkpoints were removed."""

    @property
    def words(self) -> str:
        """The checkpoint in plain words, as an option or a label says it."""
        number = self.checkpoint.number if self.checkpoint else 0
        return plain(f"{number} on {self.branch.name}, {self.title}"[:WORDS])

    @property
    def shape(self) -> Shape:
        """How it is drawn."""
        if self.fold is not None:
            return "fold"
        if self.plan is not None:
            return "plan"
        if self.kind == "rewrite":
            return "rewrite"
        return "gate" if self.gate is not None else "step"


@dataclass(frozen=True)
class Timeline:
    """The lines, the newest first, with the graph beside them."""

    lines: list[Line]
    graph: SafeString
    lanes: int
    has_plan: bool
    chosen: Checkpoint | None
    other: Checkpoint | None
    asked: Asked

    @property
    def state_link(self) -> str:
        """Where the chosen state is open, and nothing is compared."""
        return replace(self.asked, other=None).address

    @property
    def compare_link(self) -> str:
        """Where the chosen checkpoint is compared: with the one it is, else with the one before; empty without one."""
        if self.chosen is None:
            return ""
        shown = self.checkpoints
        before = next((row for row in shown if row.pk == self.chosen.parent_id), None)
        found = self.other or before or next((row for row in shown if row.pk != self.chosen.pk), None)
        return replace(self.asked, other=found.pk).address if found else ""

    @property
    def turned_link(self) -> str:
        """Where the other one is the chosen one."""
        return replace(self.asked, checkpoint=self.asked.other, other=self.asked.checkpoint).address

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Those that stand in it one by one."""
        return [line.checkpoint for line in self.lines if line.checkpoint is not None]


def timeline(
    run: Run,
    branches: Sequence[Branch],
    asked: Asked,
    gone: Sequence[Gone],
    forced: Mapping[uuid.UUID, int] | None = None,
) -> Timeline:
    """The timeline of a run as `asked`; a constant number of queries, whatever the run has been through.

    Args:
        forced: the numbers of the plans in force on the branches, where the caller knows them.

    Raises:
        NotFound: the address names a checkpoint that this run does not have.
        CheckpointRemoved: it had it once.
    """
    shown = list(branches[-BRANCHES:])
    gates = _gates(run)
    wanted = {one.head for one in shown if one.head} | {one.fork_of for one in shown if one.fork_of}
    wanted |= gates.keys() | _noted(run) | {one for one in (asked.checkpoint, asked.other) if one}
    plans = _plans(run) if forced is None or forced else []
    told = [one for one in plans if one.why_kind not in CARRIED][:PLANS]
    wanted |= {one.before for one in told if one.before}
    found = outline(
        run.pk,
        ids=wanted,
        begins=[one.pk for one in shown],
        opened=[asked.opened] if asked.opened else (),
    )
    chosen = _one(run, found.rows, asked.checkpoint) or (found.rows[0] if found.rows else None)
    other = _one(run, found.rows, asked.other)
    here = replace(asked, checkpoint=chosen.pk if chosen else None, other=None)
    lines = _checkpoints(found.rows, gates, here, other)
    lines = _with_folds(lines, found.folds, here, gone)
    lines = _with_plans(lines, versions(told, forced), f"{asked.page}/plan")
    dots = [_dot(line, plans) for line in lines]
    tracks = _tracks(branches, lines)
    count, has_plan = width(dots, tracks)
    return Timeline(
        lines=lines,
        graph=draw(dots, tracks, said=_said(lines, count)),
        lanes=count,
        has_plan=has_plan,
        chosen=chosen,
        other=other,
        asked=replace(here, other=asked.other),
    )


def _one(run: Run, rows: Sequence[Checkpoint], pk: uuid.UUID | None) -> Checkpoint | None:
    if pk is None:
        return None
    found = next((row for row in rows if row.pk == pk), None)
    # Which says of one that was removed when and why.
    return found if found is not None else in_run(run.pk, pk)


def _gates(run: Run) -> dict[uuid.UUID, Gate]:
    """The newest checkpoints at which people were asked; of several calls there, one that waits, else the first."""
    rows = ReviewRequest.objects.filter(run=run, tool_call__checkpoint__isnull=False).order_by("-number")
    told = rows.annotate(at=F("tool_call__checkpoint_id")).values_list(
        "at", "number", "plain_sentence", "state", "decided_by_name", "edited_by_name"
    )
    found: dict[uuid.UUID, Gate] = {}
    for at, number, sentence, state, by, editor in told[:GATES]:
        if at not in found or found[at].state != "pending":
            found[at] = Gate(number, sentence, state, by, editor)
    return found


def _noted(run: Run) -> set[uuid.UUID]:
    rows = ToolCall.objects.filter(run=run, state__in=NOTED, checkpoint__isnull=False)
    return set(rows.order_by("-created_at").values_list("checkpoint_id", flat=True)[:TROUBLES])


def _plans(run: Run) -> list[Any]:
    """The newest versions, each with `before`: the checkpoint that its branch saved next, None while there is none."""
    after = Checkpoint.objects.filter(
        run=run, branch_id=OuterRef("branch_id"), created_at__gte=OuterRef("created_at")
    )
    rows = PlanVersion.objects.filter(run=run).select_related("branch").defer("content", "statuses")
    rows = rows.annotate(before=Subquery(after.order_by("created_at", "id").values("pk")[:1]))
    return list(rows.order_by("-number")[: BRANCHES + PLANS])


def _checkpoints(
    rows: list[Checkpoint], gates: Mapping[uuid.UUID, Gate], here: Asked, other: Checkpoint | None
) -> list[Line]:
    calls: dict[uuid.UUID, list[tuple[str, str]]] = {}
    told = ToolCall.objects.filter(checkpoint__in=[row.pk for row in rows]).order_by("created_at", "position")
    for at, tool, state in told.values_list("checkpoint_id", "tool_name", "state"):
        calls.setdefault(at, []).append((tool, state))
    kinds = kinds_of(rows)
    return [_line(row, calls.get(row.pk, []), kinds[row.pk], gates.get(row.pk), here, other) for row in rows]


def _line(
    row: Checkpoint,
    calls: Sequence[tuple[str, str]],
    kind: Kind,
    gate: Gate | None,
    here: Asked,
    other: Checkpoint | None,
) -> Line:
    states = Counter(state for _, state in calls)
    title = gate.sentence if gate else ", ".join(dict.fromkeys(tool for tool, _ in calls)) or row.node
    is_head = row.branch.head == row.pk and row.branch.state in (BranchState.RUNNING, BranchState.RESUMING)
    tone: Tone = next((tone for state, tone in TONES if states[state]), "")
    if gate is None and tone == "ok":
        tone = ""
    is_on = row.pk == here.checkpoint
    return Line(
        branch=row.branch,
        at=row.created_at,
        href=f"{replace(here, checkpoint=row.pk).address}#state",
        checkpoint=row,
        title=title or f"Checkpoint {row.number}",
        is_ours=not title,
        gate=gate,
        tags=[(*TAGS[state], count) for state, count in states.items() if state in TAGS][:2],
        kind=kind,
        tone=tone or ("run" if is_head else ""),
        compare="" if is_on else f"{replace(here, other=row.pk).address}#state",
        is_on=is_on,
        is_with=other is not None and other.pk == row.pk,
    )


def _with_folds(
    lines: Sequence[Line], folds: Sequence[Span], here: Asked, gone: Sequence[Gone]
) -> list[Line]:
    """The lines with each fold right under the checkpoint that came after it."""
    under = {(fold.branch_id, fold.last + 1): fold for fold in folds}
    found: list[Line] = []
    for line in lines:
        found.append(line)
        row = line.checkpoint
        fold = under.get((row.branch_id, row.number)) if row else None
        if row is None or fold is None:
            continue
        some = Span(fold.branch_id, max(fold.first, fold.last - OPENED + 1), fold.last)
        found.append(
            Line(
                branch=line.branch,
                at=line.at,
                href=f"{replace(here, opened=some).address}#at-{fold.branch_id}-{fold.last}",
                fold=fold,
                is_thinned=any(
                    one.branch == line.branch.name and one.first <= fold.last and fold.first <= one.last
                    for one in gone
                ),
            )
        )
    return found


def _with_plans(lines: list[Line], told: Sequence[Version], where: str) -> list[Line]:
    """The lines with versions of the plan, each right under the checkpoint that its branch saved next, else by time."""
    found = list(lines)
    for version in told:
        row: Any = version.row
        under = (
            place + 1
            for place, line in enumerate(found)
            if line.checkpoint and line.checkpoint.pk == row.before
        )
        by_time = (place for place, line in enumerate(found) if line.at <= row.created_at)
        at = next(under if row.before else by_time, len(found))
        found.insert(at, Line(row.branch, row.created_at, f"{where}/{row.number}", plan=version))
    return found


def _dot(line: Line, plans: Sequence[PlanVersion]) -> Dot:
    own = (one for one in plans if one.branch_id == line.branch.pk)
    # What a branch begins with is written right after its first checkpoint.
    newest = next((one for one in own if one.why_kind in CARRIED or one.created_at <= line.at), None)
    label = line.title
    if line.fold is not None:
        label = f"Checkpoints {line.fold.first} to {line.fold.last}"
    elif line.plan is not None:
        label = f"Version {line.plan.row.number} of the plan: {line.plan.because}"
    return Dot(
        branch=line.branch.pk,
        shape=line.shape,
        tone=line.tone,
        label=f"{label}, {line.branch.name}",
        href=line.href,
        plan=newest.number if newest else None,
        is_on=line.is_on,
        is_with=line.is_with,
    )


def _tracks(branches: Sequence[Branch], lines: Sequence[Line]) -> dict[uuid.UUID, Track]:
    at = {line.checkpoint.pk: place for place, line in enumerate(lines) if line.checkpoint is not None}
    found: dict[uuid.UUID, Track] = {}
    for place, branch in enumerate(branches):
        goes_on = branch.state in OPEN_BRANCH or branch.state == BranchState.SUCCEEDED
        way = "over" if not goes_on else "fork" if place else "main"
        found[branch.pk] = Track(way, at.get(branch.fork_of) if branch.fork_of else None)  # type: ignore[arg-type]
    return found


def _said(lines: Sequence[Line], lanes: int) -> str:
    gates = sum(line.shape == "gate" for line in lines)
    rewrites = sum(line.shape == "rewrite" for line in lines)
    many = f"{lanes} lane{'s' if lanes != 1 else ''}"
    return f"Graph of the list beside it: {len(lines)} lines on {many}, {gates} gates, {rewrites} rewrites"
