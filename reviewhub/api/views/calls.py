"""One tool call: consume, progress, outcome, withdraw."""

from __future__ import annotations

import uuid
from typing import Any, cast

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import canonical, wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, actor_of, answer, key_of, read
from reviewhub.core.errors import NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.gates.consume import consume
from reviewhub.gates.explain import explain_call, explained
from reviewhub.gates.outcome import outcome
from reviewhub.gates.present import call_out
from reviewhub.gates.progress import progress
from reviewhub.gates.receipts import receipts_of
from reviewhub.gates.withdraw import withdraw
from reviewhub.runs.queries import runs_of
from reviewhub.toolcalls.models import ToolCall


class CallView(AgentView):
    """An endpoint for one call of the agent's own."""

    def call(self, request: Request, call_id: uuid.UUID, action: Action) -> ToolCall:
        """The call; NotFound for one of another agent or environment."""
        found = one_or_none(ToolCall.objects.filter(pk=call_id, run__in=runs_of(self.key(request, action))))
        if found is None:
            raise NotFound("There is no such tool call.")
        return found


class OneCall(CallView):
    """`GET /tool-calls/{call}`"""

    @extend_schema(responses=wire.ToolCallOut)
    def get(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """The call as it is now."""
        return answer(call_out(self.call(request, call, Action.RUN_READ)))


class Why(CallView):
    """`GET /tool-calls/{call}/policy`"""

    @extend_schema(responses=wire.ExplainOut)
    def get(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """Why it was or was not held: what the version that answered says to it, rule by rule."""
        return answer(explained(explain_call(self.call(request, call, Action.RUN_READ))))


class Receipts(CallView):
    """`GET /tool-calls/{call}/receipts`"""

    @extend_schema(responses=wire.ReceiptList)
    def get(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """Signed proof of each decision about the call, and of its end, for whoever owns the tool."""
        found = self.call(request, call, Action.RUN_READ)
        return answer(wire.ReceiptList(items=receipts_of(found)))


class Consume(CallView):
    """`POST /tool-calls/{call}/consume`"""

    @extend_schema(request=wire.ConsumeBody, responses=wire.ConsumeOut)
    def post(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """Takes the right to run the call; the Idempotency-Key is random and lives in memory only."""
        found = self.call(request, call, Action.RUN_WRITE)
        body = read(request, wire.ConsumeBody)
        taken = consume(
            call_id=found.pk,
            digest=body.digest,
            key=key_of(request),
            facts=body.facts if body.was_given("facts") else None,
            epoch=body.epoch,
            actor=actor_of(request),
        )
        return answer(
            wire.ConsumeOut(
                arguments=cast("dict[str, Any]", canonical.reread(taken.arguments)),
                arguments_text=taken.arguments,
                tool_idempotency_key=taken.idempotency_key,
                attempt=taken.attempt,
            )
        )


class Progress(CallView):
    """`POST /tool-calls/{call}/progress`"""

    @extend_schema(request=wire.ProgressBody, responses=wire.ToolCallOut)
    def post(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """Keeps a partial result of a running call."""
        found = self.call(request, call, Action.OUTCOME_REPORT)
        body = read(request, wire.ProgressBody)
        return answer(call_out(progress(call_id=found.pk, partial=canonical.dumps(body.partial))))


class Outcome(CallView):
    """`POST /tool-calls/{call}/outcome`"""

    @extend_schema(request=wire.OutcomeBody, responses=wire.OutcomeOut)
    def post(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """Says how a started call ended, with the checkpoint after it in the same commit."""
        found = self.call(request, call, Action.OUTCOME_REPORT)
        body = read(request, wire.OutcomeBody)
        return answer(outcome(call_id=found.pk, body=body, actor=actor_of(request)))


class Withdraw(CallView):
    """`POST /tool-calls/{call}/withdraw`"""

    @extend_schema(request=wire.CancelBody, responses=wire.ToolCallOut)
    def post(self, request: Request, call: uuid.UUID) -> HttpResponse:
        """Takes a call back that waits, or is allowed and not started."""
        found = self.call(request, call, Action.RUN_WRITE)
        body = read(request, wire.CancelBody)
        return answer(call_out(withdraw(call_id=found.pk, reason=body.reason, actor=actor_of(request))))
