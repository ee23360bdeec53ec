"""What reviewers ask agents."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.models import AgentKey
from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, actor_of, answer, read
from reviewhub.core.errors import NotFound
from reviewhub.gates.answer import answer as answer_question
from reviewhub.reviews.models import Question
from reviewhub.reviews.present import question_out
from reviewhub.runs.queries import runs_of

MOST = 100


class Questions(AgentView):
    """`GET /questions`"""

    @extend_schema(responses=wire.QuestionList)
    def get(self, request: Request) -> HttpResponse:
        """The open questions to this agent in the key's environment, the oldest first."""
        key = self.key(request, Action.RUN_READ)
        rows = _asked(key).filter(answered_at__isnull=True, request__state="pending")
        found = rows.select_related("request__tool_call").order_by("created_at")[:MOST]
        items = [question_out(row, row.request.tool_call) for row in found]
        return answer(wire.QuestionList(items=items), wait_for="" if items else f"agent:{key.agent_id}")


class AnswerQuestion(AgentView):
    """`POST /questions/{question}/answer`"""

    @extend_schema(request=wire.AnswerBody, responses=wire.QuestionOut)
    def post(self, request: Request, question: uuid.UUID) -> HttpResponse:
        """Answers a question once; the same words again change nothing."""
        if not _asked(self.key(request, Action.QUESTION_ANSWER)).filter(pk=question).exists():
            raise NotFound("There is no such question.")
        body = read(request, wire.AnswerBody)
        row = answer_question(question_id=question, text=body.text, actor=actor_of(request))
        return answer(question_out(row, row.request.tool_call))


def _asked(key: AgentKey) -> QuerySet[Question]:
    """The questions about runs that the key reaches."""
    return Question.objects.filter(agent_id=key.agent_id, request__run__in=runs_of(key))
