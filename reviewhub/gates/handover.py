"""The note for whoever goes on with a branch, from the record."""

from __future__ import annotations

from reviewhub_agents import handover as notes

from reviewhub.gates.present import calls_out
from reviewhub.gates.present_plans import plan_out
from reviewhub.plans.queries import in_force
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import ACTED
from reviewhub.tools.models import Effect

MOST = 500


def handover(branch: Branch) -> str:
    """The note for this branch: of its newest MOST calls, and of what other branches of its run did. Reads only."""
    own = ToolCall.objects.filter(branch=branch)
    others = ToolCall.objects.filter(run_id=branch.run_id, state__in=ACTED).exclude(effect=Effect.READ)
    plan = in_force(branch.pk)
    newest = [
        list(rows.order_by("-created_at", "-position", "-pk")[:MOST])[::-1]
        for rows in (own, others.exclude(branch=branch))
    ]
    calls, elsewhere = (calls_out(rows) for rows in newest)
    return notes.note(plan=plan_out(plan) if plan else None, calls=calls, elsewhere=elsewhere)
