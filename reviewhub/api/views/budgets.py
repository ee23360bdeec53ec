"""What the states of a run weigh."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, answer
from reviewhub.budgets.kept import kept
from reviewhub.budgets.queries import budget_of
from reviewhub.budgets.weigh import weigh
from reviewhub.checkpoints.queries import head_of
from reviewhub.gates.present_budget import budget_out
from reviewhub.gates.set_aside import setting_aside
from reviewhub.runs.queries import branch_of


class OneBudget(AgentView):
    """`GET /runs/{run}/budget`"""

    takes = frozenset({"branch"})

    @extend_schema(responses=wire.BudgetOut)
    def get(self, request: Request, run: uuid.UUID) -> HttpResponse:
        """The state at the head of `?branch=` (`main`), the heaviest field first, and what the newest saves wrote."""
        found = self.run(request, run, Action.CHECKPOINT_READ)
        branch = branch_of(found, request.query_params.get("branch", "main"))
        head = head_of(branch)
        with setting_aside():
            weight = weigh(checkpoint=head, budget=budget_of(head)) if head else None
        return answer(budget_out(branch, weight, kept([found.pk])[found.pk]))
