"""Keeping runs and checkpoints from being removed: for people."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action, Caller, require
from reviewhub.api.authentication import caller_in
from reviewhub.api.base import PersonView, actor_of, answer, checkpoint_of, read, read_nothing
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.errors import NotFound
from reviewhub.retention.hold import hold
from reviewhub.retention.pin import pin
from reviewhub.retention.present import kept_out
from reviewhub.retention.release import release
from reviewhub.retention.unpin import unpin
from reviewhub.reviews.targets import run_target
from reviewhub.runs.models import Run


class KeepingView(PersonView):
    """A person acts on a run that they may know of."""

    def caller(self, request: Request, run: Run, action: Action) -> Caller:
        """The membership to act by. Raises NotFound, Forbidden."""
        caller = caller_in(request, run.workspace_id)
        require(caller, action, run_target(run))
        return caller

    def run(
        self, request: Request, run_id: uuid.UUID, action: Action = Action.RUN_HOLD
    ) -> tuple[Run, Caller]:
        """The run, and the membership to act by. Raises NotFound, Forbidden."""
        row = Run.objects.select_related("agent").filter(pk=run_id).first()
        if row is None:
            raise NotFound
        return row, self.caller(request, row, action)

    def checkpoint(self, request: Request, checkpoint_id: uuid.UUID) -> tuple[Checkpoint, Caller]:
        """The checkpoint, and the membership to act by. Raises NotFound, Forbidden, CheckpointRemoved."""
        return checkpoint_of(request, checkpoint_id, Action.CHECKPOINT_PIN)


class HoldRun(KeepingView):
    """`POST /runs/{run}/hold`"""

    @extend_schema(request=wire.WhyBody, responses=wire.KeptOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Nothing of the run is removed or erased from now on."""
        row, caller = self.run(request, run)
        made = hold(run=row, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(kept_out(made))


class ReleaseRun(KeepingView):
    """`POST /runs/{run}/release`"""

    @extend_schema(request=wire.WhyBody, responses={204: None})
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Lifts the hold."""
        row, caller = self.run(request, run)
        release(run=row, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return HttpResponse(status=204)


class PinCheckpoint(KeepingView):
    """`POST /checkpoints/{checkpoint}/pin`"""

    @extend_schema(request=wire.WhyBody, responses=wire.KeptOut)
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """The checkpoint stays, whatever a rule says."""
        row, caller = self.checkpoint(request, checkpoint)
        made = pin(checkpoint=row, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(kept_out(made))


class UnpinCheckpoint(KeepingView):
    """`POST /checkpoints/{checkpoint}/unpin`"""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """Takes the pin off."""
        row, caller = self.checkpoint(request, checkpoint)
        read_nothing(request)
        unpin(checkpoint=row, actor=actor_of(request, caller))
        return HttpResponse(status=204)
