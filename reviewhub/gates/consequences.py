"""What a rewrite would end, what it cannot undo, and what is still under way on the branch that it supersedes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from reviewhub_agents import canonical
from reviewhub_agents.wire import time_text

from reviewhub.audit.queries import Filters, list_events
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import head_of
from reviewhub.core.errors import Conflict
from reviewhub.runs.fence import RunEnded, Superseded, check_open
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.tools.models import Effect

MOST = 100
_NEAR = 10
WITHDRAWN = (CallState.PROPOSED, CallState.WAITING, CallState.ALLOWED)
DONE = (CallState.SUCCEEDED, CallState.FAILED)


class MovedOn(Conflict):
    """The branch has gone on since it was shown; look at it again."""

    code = "changed"


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """Tool calls of a branch, seen from one of its checkpoints; of each list the newest MOST.

    `withdrawn` wait, or were allowed and not used: they end with the branch. `under_way` have started, and `unknown`
    may have happened: both stay, and their outcomes are taken. `done` ran after the checkpoint, so the state at it
    knows nothing of them: they are not undone. `reads` of them changed nothing and are only counted.
    """

    branch: Branch
    withdrawn: list[ToolCall]
    under_way: list[ToolCall]
    unknown: list[ToolCall]
    done: list[ToolCall]
    reads: int
    left_out: int
    seen: str
    """Stands for all of this: another one when a call moved or the branch has another head."""


def consequences(checkpoint: Checkpoint) -> Consequences:
    """What rewriting the run at `checkpoint` means for the tool calls of its branch. Reads only.

    Raises:
        Superseded, RunEnded: the branch is no longer open; with `by` and `at`, who ended it and when.
    """
    branch = Branch.objects.select_related("run").get(pk=checkpoint.branch_id)
    still_open(branch)
    return of_branch(branch, checkpoint)


def of_branch(branch: Branch, checkpoint: Checkpoint) -> Consequences:
    """The same of a branch that is known to be open, as it stands in the caller's transaction."""
    calls = ToolCall.objects.filter(branch=branch).exclude(state__in=[CallState.DENIED, CallState.SKIPPED])
    after = Q(checkpoint__number__gte=checkpoint.number) | Q(
        checkpoint__isnull=True, created_at__gte=checkpoint.created_at
    )
    told = calls.filter(~Q(state__in=DONE) | after).order_by("pk")
    rows = list(told.values_list("pk", "state", "version", "effect", "created_at"))
    lists: list[list[tuple[datetime, uuid.UUID]]] = [[], [], [], []]
    reads = 0
    for pk, state, _, effect, at in rows:
        if state in DONE and effect == Effect.READ:
            reads += 1
        else:
            lists[_place(state)].append((at, pk))
    shown = _newest(lists)
    return Consequences(
        branch=branch,
        withdrawn=shown[0],
        under_way=shown[1],
        unknown=shown[2],
        done=shown[3],
        reads=reads,
        left_out=len(rows) - reads - sum(map(len, shown)),
        seen=_digest(branch, checkpoint, [row[:3] for row in rows]),
    )


def still_open(branch: Branch) -> None:
    """Refuses a branch that takes no writes any more, naming who ended it and when. Raises Superseded, RunEnded."""
    try:
        check_open(branch)
    except (Superseded, RunEnded) as error:
        raise type(error)(error.message, **error.extra, **_who_ended(branch)) from None


def check_seen(found: Consequences, seen: str) -> None:
    """Refuses a page that shows something else than what is. Raises MovedOn naming who was last at it, and when."""
    if seen != found.seen:
        raise MovedOn(**_who_was_last(found.branch), seen=found.seen)


def _place(state: str) -> int:
    """Which list of `Consequences` a call in this state is in, in the order of its fields."""
    if state in WITHDRAWN:
        return 0
    return {CallState.STARTED: 1, CallState.UNKNOWN: 2}.get(CallState(state), 3)


def _newest(lists: Sequence[list[tuple[datetime, uuid.UUID]]]) -> list[list[ToolCall]]:
    """The newest calls of each list, all read at once."""
    wanted = [[pk for _, pk in sorted(found, reverse=True)[:MOST]] for found in lists]
    every = [pk for pks in wanted for pk in pks]
    calls = ToolCall.objects.select_related("branch").in_bulk(every) if every else {}
    return [[calls[pk] for pk in pks if pk in calls] for pks in wanted]


def _digest(branch: Branch, checkpoint: Checkpoint, rows: Iterable[tuple[object, str, int]]) -> str:
    told: list[canonical.Tree] = [f"{pk} {state} {version}" for pk, state, version in rows]
    return canonical.body_digest([str(checkpoint.pk), str(branch.head), *told])


def _who_ended(branch: Branch) -> dict[str, str]:
    if branch.superseded_by_id:
        filters = Filters(kind="branch.superseded", subject_id=branch.superseded_by_id)
    else:
        filters = Filters(run_id=branch.run_id)
    found = _newest_event(branch, filters)
    return _said(*found) if found else {}


def _who_was_last(branch: Branch) -> dict[str, str]:
    """Whoever saved its head, or did anything on record in its run, whichever came last."""
    found = _newest_event(branch, Filters(run_id=branch.run_id))
    said = [found] if found else []
    head = head_of(branch)
    if head is not None:
        said.append((head.created_at, head.author_name))
    return _said(*max(said)) if said else {}


def _newest_event(branch: Branch, filters: Filters) -> tuple[datetime, str] | None:
    """When and who; what the server itself recorded follows from what somebody else did just before."""
    events = list_events(workspace_id=branch.workspace_id, filters=filters, limit=_NEAR).events
    one = next((event for event in events if event.actor_kind != "system"), next(iter(events), None))
    return (one.at, one.payload.actor_name) if one else None


def _said(at: datetime, name: str) -> dict[str, str]:
    return {"by": name, "at": time_text(at)}
