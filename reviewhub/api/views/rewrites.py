"""Rewriting a run's state, and what that would mean: for people."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action, Caller
from reviewhub.api.base import PersonView, actor_of, answer, checkpoint_of, key_of, read
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.gates.consequences import check_seen, consequences
from reviewhub.gates.present_preview import rewrite_foreseen
from reviewhub.gates.present_rewrites import preview_out
from reviewhub.gates.preview import preview
from reviewhub.gates.rewrite_once import rewrite_once


class RewritePreview(PersonView):
    """`POST /checkpoints/{checkpoint}/rewrite/preview`"""

    @extend_schema(request=wire.RewritePreviewBody, responses=wire.RewriteForeseen)
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """The same as `GET …/rewrite`, and what the changes make of the state. Changes nothing."""
        row, _ = checkpoint_of(request, checkpoint, Action.CHECKPOINT_REWRITE)
        body = read(request, wire.RewritePreviewBody)
        found = preview(checkpoint=row, changes=body.changes, plan=body.plan, supersedes=True)
        if body.seen:
            check_seen(found.found, body.seen)
        return answer(rewrite_foreseen(found, row))


class Rewrite(PersonView):
    """`GET | POST /checkpoints/{checkpoint}/rewrite`"""

    @extend_schema(responses=wire.RewritePreview)
    def get(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """What a rewrite here would withdraw, what is already done and what is under way. Changes nothing."""
        row, _ = self._found(request, checkpoint)
        return answer(preview_out(consequences(row)))

    @extend_schema(request=wire.RewriteBody, responses={201: wire.RewriteOut})
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """Goes on from a checkpoint with a changed state; its branch is superseded, what ran stays done."""
        row, caller = self._found(request, checkpoint)
        key, body = key_of(request), read(request, wire.RewriteBody)
        made = rewrite_once(checkpoint=row, body=body, key=key, actor=actor_of(request, caller))
        return answer(made, status=201)

    def _found(self, request: Request, checkpoint: uuid.UUID) -> tuple[Checkpoint, Caller]:
        """The checkpoint and the membership to act by. Raises NotFound, Forbidden, CheckpointRemoved."""
        return checkpoint_of(request, checkpoint, Action.CHECKPOINT_REWRITE)
