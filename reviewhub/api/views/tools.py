"""Tools and policy, as an agent asks about them."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, actor_of, answer, read
from reviewhub.gates.explain import explain
from reviewhub.gates.present_tools import tool_out
from reviewhub.policies.schema import schema_text
from reviewhub.tools.register import register


class OneTool(AgentView):
    """`PUT /tools/{name}`"""

    @extend_schema(request=wire.ToolRegister, responses=wire.ToolOut)
    def put(self, request: Request, name: str) -> HttpResponse:
        """Registers a tool, or says anew what it is. Sentence and risk stay the admins'."""
        agent = self.key(request, Action.TOOLS_DECLARE).agent
        body = read(request, wire.ToolRegister)
        return answer(tool_out(register(agent=agent, name=name, body=body, actor=actor_of(request))))


class Explain(AgentView):
    """`POST /policy/explain`"""

    @extend_schema(request=wire.ExplainBody, responses=wire.ExplainOut)
    def post(self, request: Request) -> HttpResponse:
        """What policy would say to a call; nothing is stored."""
        key = self.key(request, Action.POLICY_EXPLAIN)
        body = read(request, wire.ExplainBody)
        return answer(explain(agent=key.agent, environment=key.environment, body=body))


@extend_schema(exclude=True)
class PolicySchema(APIView):
    """`GET /policy/schema`"""

    authentication_classes = ()
    permission_classes = ()

    def get(self, request: Request) -> HttpResponse:
        """The JSON Schema of a policy, for anybody."""
        return HttpResponse(schema_text(), content_type="application/schema+json")
