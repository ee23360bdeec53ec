"""What reviewers ask agents."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, actor_of, answer, read
from reviewhub.core.errors import NotFound
from reviewhub.gates.answer import answer as answer_question
from reviewhub.reviews.models import Question
from reviewhub.reviews.present import question_out

MOST = 100


class Questions(AgentView):
    """`GET /questions`"""

    @extend_schema(responses=wire.QuestionList)
    def get(self, request: Request) -> HttpResponse:
        """The open questions to this agent, the oldest first."""
        agent = self.agent(request, Action.RUN_READ)
        rows = Question.objects.filter(agent=agent, answered_at__isnull=True, request__state="pending")
        found = rows.select_related("request__tool_call").order_by("created_at")[:MOST]
        items = [question_out(row, row.request.tool_call) for row in found]
        return answer(wire.QuestionList(items=items), wait_for="" if items else f"agent:{agent.pk}")


class AnswerQuestion(AgentView):
    """`POST /questions/{question}/answer`"""

    @extend_schema(request=wire.AnswerBody, responses=wire.QuestionOut)
    def post(self, request: Request, question: uuid.UUID) -> HttpResponse:
        """Answers a question once; the same words again change nothing."""
        agent = self.agent(request, Action.QUESTION_ANSWER)
        if not Question.objects.filter(pk=question, agent=agent).exists():
            raise NotFound("There is no such question.")
        body = read(request, wire.AnswerBody)
        row = answer_question(question_id=question, text=body.text, actor=actor_of(request))
        return answer(question_out(row, row.request.tool_call))
