"""Checkpoints: save, list, load, compare, ask about, fork."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.api.base import (
    AgentView,
    EitherView,
    actor_of,
    answer,
    answer_with,
    check_reason,
    key_of,
    read,
)
from reviewhub.checkpoints.blame import blame
from reviewhub.checkpoints.difference import difference
from reviewhub.checkpoints.find import find
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import field_digests, load_state
from reviewhub.checkpoints.queries import for_key, of_run, removed_of
from reviewhub.core.errors import Invalid
from reviewhub.gates.checkpoint import checkpoint as save_checkpoint
from reviewhub.gates.fork import fork
from reviewhub.gates.present_budget import with_warnings
from reviewhub.gates.present_preview import fork_foreseen
from reviewhub.gates.present_runs import (
    branches_out,
    checkpoint_out,
    checkpoints_out,
    difference_out,
    removed_out,
)
from reviewhub.gates.present_walks import blame_after, blame_out, find_after, find_out
from reviewhub.gates.preview import preview
from reviewhub.gates.set_aside import setting_aside
from reviewhub.runs.queries import branch_of

STATES = ("none", "fields", "full")


class Checkpoints(AgentView):
    """`GET | POST /runs/{run}/checkpoints`"""

    takes = frozenset({"branch", "cursor"})

    @extend_schema(responses=wire.CheckpointList)
    def get(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """The run's checkpoints, newest first, without their states; `?cursor=` for the next page.

        With `?branch=` (a name or an id) those that lead to the head of this branch, across forks.
        """
        found = self.run(request, run, Action.CHECKPOINT_READ)
        query = request.query_params
        cursor, name = query.get("cursor", ""), query.get("branch", "")
        branch = branch_of(found, name) if name else None
        page = history(branch=branch, cursor=cursor) if branch else of_run(found.pk, cursor=cursor)
        fields: dict[str, Any] = {"items": checkpoints_out(page.rows)}
        if not cursor:
            fields["removed"] = removed_out(removed_of(found.pk))
        if page.next:
            fields["next"] = page.next
        return answer(wire.CheckpointList(**fields))

    @extend_schema(request=wire.CheckpointSave, responses={201: wire.CheckpointOut})
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Saves a state as the new head of a branch."""
        found = self.run(request, run, Action.RUN_WRITE)
        key, body = key_of(request), read(request, wire.CheckpointSave)
        saved = save_checkpoint(run=found, body=body, key=key, actor=actor_of(request))
        return answer(with_warnings(checkpoint_out(saved.checkpoint), saved.warnings), status=201)


class OneCheckpoint(AgentView):
    """`GET /checkpoints/{checkpoint}`"""

    takes = frozenset({"state"})

    @extend_schema(responses=wire.CheckpointOut)
    def get(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """A checkpoint; `?state=full` with its state, `?state=fields` with the digest of each field."""
        row = for_key(self.key(request, Action.CHECKPOINT_READ), checkpoint)
        how = request.query_params.get("state", "full")
        if how not in STATES:
            raise Invalid.at("/state", f"{how!r} is none of {', '.join(STATES)}")
        if how == "none":
            return answer(checkpoint_out(row))
        with setting_aside():
            if how == "fields":
                return answer(checkpoint_out(row, fields=field_digests(row)))
            return answer_with(checkpoint_out(row), "state", load_state(row).raw)


class Differences(AgentView):
    """`GET /checkpoints/{checkpoint}/difference/{other}`"""

    @extend_schema(responses=wire.DifferenceOut)
    def get(self, request: Request, checkpoint: uuid.UUID, other: uuid.UUID) -> HttpResponse:
        """What differs in `other`, a checkpoint of the same run: by path, with both values."""
        key = self.key(request, Action.CHECKPOINT_READ)
        with setting_aside():
            found = difference(for_key(key, checkpoint), for_key(key, other))
        return answer(difference_out(found))


class Blame(AgentView):
    """`GET /checkpoints/{checkpoint}/blame`"""

    takes = frozenset({"before", "path"})

    @extend_schema(
        parameters=[OpenApiParameter("path", str, required=True), OpenApiParameter("before", str)],
        responses=wire.BlameOut,
    )
    def get(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """Which checkpoint up to this one last changed the value at `?path=`, a JSON pointer; across forks.

        One request looks at so many checkpoints only; `?before=`, from the answer, goes on.
        """
        row = for_key(self.key(request, Action.CHECKPOINT_READ), checkpoint)
        path = request.query_params.get("path", "")
        after = blame_after(row.run_id, request.query_params.get("before", ""))
        with setting_aside():
            found = blame(checkpoint=row, path=path, after=after)
        return answer(blame_out(path, found))


class Find(AgentView):
    """`POST /checkpoints/{checkpoint}/find`"""

    @extend_schema(request=wire.FindBody, responses=wire.FindOut)
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """Which checkpoint up to this one introduced a value at a path, and which one lost it. Stores nothing.

        One request looks at so many checkpoints only; `before`, from the answer, goes on.
        """
        row = for_key(self.key(request, Action.CHECKPOINT_READ), checkpoint)
        body = read(request, wire.FindBody)
        so_far = find_after(row.run_id, body.before or "")
        with setting_aside():
            found = find(checkpoint=row, path=body.path, value=body.value, so_far=so_far)
        return answer(find_out(found))


class ForkPreview(EitherView):
    """`POST /checkpoints/{checkpoint}/fork/preview`"""

    @extend_schema(request=wire.ForkBody, responses=wire.ForkForeseen)
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """What a fork here would begin with, and what its old branch did since. Changes nothing."""
        row, caller = self.checkpoint(request, checkpoint, Action.CHECKPOINT_FORK)
        body = read(request, wire.ForkBody)
        found = preview(
            checkpoint=row, changes=body.changes, plan=body.plan, supersedes=False, name=body.branch
        )
        return answer(fork_foreseen(found, row, for_people=isinstance(caller, MemberCaller)))


class Fork(EitherView):
    """`POST /checkpoints/{checkpoint}/fork`"""

    @extend_schema(request=wire.ForkBody, responses={201: wire.ForkOut})
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """Starts a new branch at an older checkpoint, perhaps with another state; it supersedes nothing.

        Also of a run that ended. People say why.
        """
        row, caller = self.checkpoint(request, checkpoint, Action.CHECKPOINT_FORK)
        key, body = key_of(request), read(request, wire.ForkBody)
        check_reason(caller, body.reason)
        branch, first = fork(checkpoint=row, body=body, key=key, actor=actor_of(request, caller))
        (out,) = branches_out([branch])
        return answer(wire.ForkOut(run=branch.run_id, branch=out, checkpoint=first.pk), status=201)
