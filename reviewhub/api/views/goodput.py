"""Where the time of a run went."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, answer
from reviewhub.hosting.goodput.present import goodput_out
from reviewhub.hosting.goodput.queries import goodput_of_run


class OneGoodput(AgentView):
    """`GET /runs/{run}/goodput`"""

    @extend_schema(responses=wire.GoodputOut)
    def get(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """Useful time, replay, recovery, what checkpoints cost, and waiting, up to now."""
        found = self.run(request, run, Action.RUN_READ)
        return answer(goodput_out(found, goodput_of_run(found)))
