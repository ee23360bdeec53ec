"""What agents' states are: their JSON Schemas, by name and version."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, actor_of, answer, read
from reviewhub.checkpoints.queries import schema_of
from reviewhub.checkpoints.register_schema import register_schema
from reviewhub.gates.present_runs import schema_out


class OneState(AgentView):
    """`GET | PUT /states/{name}/{version}`"""

    @extend_schema(responses=wire.StateSchemaOut)
    def get(self, request: Request, name: str, version: int) -> HttpResponse:
        """The schema that this agent registered."""
        agent = self.key(request, Action.CHECKPOINT_READ).agent
        return answer(schema_out(schema_of(agent, name, version)))

    @extend_schema(request=wire.StateSchemaIn, responses=wire.StateSchemaOut)
    def put(self, request: Request, name: str, version: int) -> HttpResponse:
        """Registers the schema of a state; again with the same one changes nothing, with another is refused."""
        agent = self.key(request, Action.STATES_DECLARE).agent
        body = read(request, wire.StateSchemaIn)
        row = register_schema(agent=agent, name=name, version=version, body=body, actor=actor_of(request))
        return answer(schema_out(row))
