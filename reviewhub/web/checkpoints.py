"""A run's saved states to read: one checkpoint, the way that a branch came, two compared, the story of one value."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from reviewhub_agents import canonical
from reviewhub_agents.canonical import BadJson

from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed
from reviewhub.checkpoints import queries, walk
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.difference import difference as differences_of
from reviewhub.checkpoints.history import history as way_of
from reviewhub.checkpoints.load import CheckpointRemoved, CorruptCheckpoint, load_state
from reviewhub.checkpoints.models import Checkpoint, Pin
from reviewhub.checkpoints.queries import Kind, kinds_of
from reviewhub.checkpoints.story import story
from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.typed import kept_misfits
from reviewhub.core.errors import Invalid, NotFound, ReviewHubError
from reviewhub.core.limits import parse_sent
from reviewhub.core.rows import one_or_none
from reviewhub.gates.consequences import Consequences, of_branch
from reviewhub.gates.set_aside import setting_aside
from reviewhub.reviews.targets import checkpoint_for, run_target
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import branches_of
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.web.access import page
from reviewhub.web.called import Called, called
from reviewhub.web.controls import CONTROL, ways
from reviewhub.web.differing import MOST, MOST_BYTES, listed
from reviewhub.web.forms import words
from reviewhub.web.render import show
from reviewhub.web.runs import find as find_run
from reviewhub.web.state_view import hides, look, schema_of, value_at

LISTED = 40
CALLS = 20
GONE = 20


@dataclass(frozen=True)
class Line:
    """One checkpoint of a list, and how it came to be."""

    row: Checkpoint
    kind: Kind


@dataclass(frozen=True)
class Touched:
    """The tool calls that a rewrite ends or cannot undo, with their arguments."""

    withdrawn: list[Called]
    under_way: list[Called]
    unknown: list[Called]
    done: list[Called]
    reads: int
    left_out: int

    @property
    def is_empty(self) -> bool:
        """Whether there is no such call at all."""
        return not (self.withdrawn or self.under_way or self.unknown or self.done or self.reads)


def find(caller: MemberCaller, checkpoint_id: uuid.UUID) -> tuple[Checkpoint, Target]:
    """The checkpoint of an address, without its content, and what the permission function is asked about."""
    return checkpoint_for(caller, checkpoint_id)


@page(Action.CHECKPOINT_READ, of=find)
def checkpoint(request: HttpRequest, caller: MemberCaller, row: Checkpoint) -> HttpResponse:
    """One checkpoint with its state. `?path=` opens a place in it, `?from=` and `?sheet=` go on there."""
    given = request.GET
    context = about(caller, row) | {"since": of_branch(row.branch, row)}
    error: ReviewHubError | None = None
    try:
        state = read_state(row)
        context["look"] = look(
            state,
            path=given.get("path", ""),
            start=number_in(given.get("from", "0"), "/from"),
            sheet=number_in(given.get("sheet", "1"), "/sheet"),
            schema=schema_of(row),
        )
    except (CheckpointRemoved, CorruptCheckpoint, BlobsAway, Invalid) as refusal:
        error = refusal
        context["errors"] = words(refusal)
    if context["kind"] == "rewrite":
        context |= _rewritten(row)
    status = error.status if isinstance(error, Invalid) else 200
    return show(request, caller, "web/checkpoint.html", context, nav="runs", status=status)


@page(Action.RUN_READ, of=find_run)
def history(request: HttpRequest, caller: MemberCaller, run: Run) -> HttpResponse:
    """The way that a branch came, the newest first; two of its checkpoints can be chosen to compare."""
    given = request.GET
    if given.get("old") and given.get("new"):
        old, new = (_of_run(run, given.get(name, "")) for name in ("old", "new"))
        return redirect(f"/{caller.member.workspace.slug}/checkpoints/{new.pk}/difference?with={old.pk}")
    branches = branches_of(run.pk)
    chosen = next((one for one in branches if str(one.pk) == given.get("branch")), None)
    if given.get("branch") and chosen is None:
        raise NotFound
    branch = chosen or next((one for one in reversed(branches) if one.state in OPEN_BRANCH), branches[-1])
    found = way_of(branch=branch, cursor=given.get("cursor", ""), limit=LISTED)
    context = {
        "run": run,
        "branches": branches,
        "branch": branch,
        "gone": [one for one in queries.removed_of(run.pk) if one.branch == branch.name][:GONE],
        "lines": lines(found.rows),
        "next": found.next,
        "is_first_page": not given.get("cursor"),
        "errors": ["Choose an old and a new checkpoint to compare."]
        if "old" in given or "new" in given
        else [],
    }
    return show(request, caller, "web/history.html", context, nav="runs")


@page(Action.CHECKPOINT_READ, of=find)
def difference(request: HttpRequest, caller: MemberCaller, row: Checkpoint) -> HttpResponse:
    """What changed from another checkpoint (`?with=`; its parent, if none is named) to this one."""
    given = request.GET
    others = queries.of_run(row.run_id, cursor=given.get("cursor", ""), limit=LISTED)
    chosen = given.get("with", "")
    other = _of_run(row.run, chosen) if chosen else _parent(row)
    context = about(caller, row) | {
        "other": other,
        "others": [line for line in lines(others.rows) if line.row.pk != row.pk],
        "next": others.next,
    }
    if other is not None:
        try:
            with setting_aside():
                found = differences_of(other, row, most=MOST, most_bytes=MOST_BYTES)
            context |= {"changes": listed(found, schema=schema_of(row)), "more": found.more, "most": MOST}
        except (CheckpointRemoved, CorruptCheckpoint, BlobsAway) as damage:
            context["errors"] = words(damage)
    return show(request, caller, "web/difference.html", context, nav="runs")


@page(Action.CHECKPOINT_READ, of=find)
def trace(request: HttpRequest, caller: MemberCaller, row: Checkpoint) -> HttpResponse:
    """The story of the value at `?path=`: who last changed it, and where it (or `?value=`, as JSON) came and went."""
    path = request.GET.get("path", "")
    asked = request.GET.get("value", "")
    context = about(caller, row) | {"path": path, "asked": asked}
    status = 200
    try:
        context["is_secret"] = hides(path)
        with setting_aside():
            context |= _story(row, path, asked)
    except (Invalid, BadJson) as refusal:
        errors = [one["message"] for one in refusal.errors] or [str(refusal)]
        context["errors"], status = errors, 422
    except (CheckpointRemoved, CorruptCheckpoint, BlobsAway) as damage:
        context["errors"] = words(damage)
    return show(request, caller, "web/trace.html", context, nav="runs", status=status)


def about(caller: MemberCaller, row: Checkpoint) -> dict[str, Any]:
    """What every page about one checkpoint says: whose it is, how it came to be, its neighbours, what one may do."""
    target = run_target(row.run)
    around = Checkpoint.objects.filter(branch_id=row.branch_id).defer("content")
    return {
        "run": row.run,
        "checkpoint": row,
        "kind": kinds_of([row])[row.pk],
        "misfits": kept_misfits(row),
        "parent": _parent(row),
        "after": one_or_none(around.filter(number=row.number + 1)),
        "head": row.branch.head,
        "ways": ways(
            row.branch,
            may={one for one in CONTROL if allowed(caller, one, target)},
            stopped=row.run.agent.stopped_at is not None,
        ),
        "pin": one_or_none(Pin.objects.filter(pk=row.pk)),
        "may_pin": allowed(caller, Action.CHECKPOINT_PIN, target),
        "key": uuid.uuid4(),
    }


def read_state(row: Checkpoint) -> State:
    """The state of a checkpoint; a damaged one is put on record. Raises CorruptCheckpoint."""
    with setting_aside():
        return load_state(row)


def lines(rows: list[Checkpoint]) -> list[Line]:
    """Checkpoints for a list."""
    kinds = kinds_of(rows)
    return [Line(row, kinds[row.pk]) for row in rows]


def touched(found: Consequences) -> Touched:
    """The calls of a rewrite with what they do; of each list the newest few."""
    lists = [found.withdrawn, found.under_way, found.unknown, found.done]
    shown = [called(some[:CALLS]) for some in lists]
    cut = sum(len(some) - len(few) for some, few in zip(lists, shown, strict=True))
    withdrawn, under_way, unknown, done = shown
    return Touched(
        withdrawn=withdrawn,
        under_way=under_way,
        unknown=unknown,
        done=done,
        reads=found.reads,
        left_out=found.left_out + cut,
    )


def number_in(text: str, at: str) -> int:
    """A number of an address. Raises Invalid."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Invalid.at(at, "is a number")
    return int(text)


def _story(row: Checkpoint, path: str, asked: str) -> dict[str, Any]:
    here = value_at(load_state(row), path)
    if asked and hides(path):
        raise Invalid("Of a hidden value only the one that stands here is looked for: guesses would tell it.")
    wanted = parse_sent(asked) if asked else None
    text = canonical.dumps(wanted) if asked else here
    # To say where a value was lost one has to look at what came after this checkpoint, too.
    # One that lies far back is where the walk begins, or it would never get there.
    head = queries.head_of(row.branch) or row
    is_near = head.number - row.number < walk.MOST // 2
    told = story(head=head if is_near else row, checkpoint=row, path=path, value=text)
    kinds = kinds_of([one for one in (told.last, told.introduced, told.lost) if one is not None])
    named = {
        name: Line(one, kinds[one.pk]) if one else None
        for name, one in (("last", told.last), ("introduced", told.introduced), ("lost", told.lost))
    }
    return named | {
        "is_there": here is not None,
        "is_looked_for": text is not None,
        "is_older": told.is_older,
        "is_near": is_near,
        "rest": told.rest,
    }


def _parent(row: Checkpoint) -> Checkpoint | None:
    if row.parent_id is None:
        return None
    # It may have been removed.
    return one_or_none(Checkpoint.objects.select_related("branch").defer("content").filter(pk=row.parent_id))


def _of_run(run: Run, text: str) -> Checkpoint:
    """Another checkpoint of the same run. Raises NotFound, CheckpointRemoved."""
    try:
        wanted = uuid.UUID(text)
    except ValueError as error:
        raise NotFound from error
    return queries.in_run(run.pk, wanted)


def _rewritten(row: Checkpoint) -> dict[str, Any]:
    """Of a rewrite: the branch that it superseded, and what ran there and is not undone."""
    old = Branch.objects.filter(superseded_by=row.branch_id).order_by("-ended_at").first()
    origin = _parent(row)
    if old is None or origin is None:
        return {}
    return {"old": old, "touched": touched(of_branch(old, origin))}
