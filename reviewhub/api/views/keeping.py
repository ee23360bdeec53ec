"""Keeping runs and checkpoints from being removed: for people."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import (
    PersonView,
    actor_of,
    answer,
    checkpoint_of,
    read,
    read_nothing,
    run_of_person,
)
from reviewhub.retention.hold import hold
from reviewhub.retention.pin import pin
from reviewhub.retention.present import kept_out
from reviewhub.retention.release import release
from reviewhub.retention.unpin import unpin


class HoldRun(PersonView):
    """`POST /runs/{run}/hold`"""

    @extend_schema(request=wire.WhyBody, responses=wire.KeptOut)
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Nothing of the run is removed or erased from now on."""
        row, caller = run_of_person(request, run, Action.RUN_HOLD)
        made = hold(run=row, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(kept_out(made))


class ReleaseRun(PersonView):
    """`POST /runs/{run}/release`"""

    @extend_schema(request=wire.WhyBody, responses={204: None})
    def post(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Lifts the hold."""
        row, caller = run_of_person(request, run, Action.RUN_HOLD)
        release(run=row, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return HttpResponse(status=204)


class PinCheckpoint(PersonView):
    """`POST /checkpoints/{checkpoint}/pin`"""

    @extend_schema(request=wire.WhyBody, responses=wire.KeptOut)
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """The checkpoint stays, whatever a rule says."""
        row, caller = checkpoint_of(request, checkpoint, Action.CHECKPOINT_PIN)
        made = pin(checkpoint=row, reason=read(request, wire.WhyBody).reason, actor=actor_of(request, caller))
        return answer(kept_out(made))


class UnpinCheckpoint(PersonView):
    """`POST /checkpoints/{checkpoint}/unpin`"""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, checkpoint: uuid.UUID) -> HttpResponse:
        """Takes the pin off."""
        row, caller = checkpoint_of(request, checkpoint, Action.CHECKPOINT_PIN)
        read_nothing(request)
        unpin(checkpoint=row, actor=actor_of(request, caller))
        return HttpResponse(status=204)
