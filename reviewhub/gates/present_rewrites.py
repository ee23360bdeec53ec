"""A rewrite as the API shows it, before and after: reads only."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import wire

from reviewhub.gates.consequences import Consequences
from reviewhub.gates.present_runs import branches_out
from reviewhub.gates.rewritten import Rewritten
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall


def preview_out(found: Consequences) -> wire.RewritePreview:
    """What a rewrite would mean, or meant, for the tool calls of its branch."""
    branch = Branch.objects.get(pk=found.branch.pk)
    (out,) = branches_out([branch])
    calls: dict[str, Any] = {**touched_out(found)}
    return wire.RewritePreview(
        branch=out, reads=found.reads, left_out=found.left_out, seen=found.seen, **calls
    )


def touched_out(found: Consequences) -> dict[str, list[wire.TouchedCall]]:
    """The calls by the name of their list."""
    lists = {
        "withdrawn": found.withdrawn,
        "under_way": found.under_way,
        "unknown": found.unknown,
        "done": found.done,
    }
    calls = [call for some in lists.values() for call in some]
    asked = ReviewRequest.objects.filter(tool_call__in=calls).order_by("number")
    numbers = dict(asked.values_list("tool_call_id", "number"))
    return {name: [_call(call, numbers.get(call.pk)) for call in some] for name, some in lists.items()}


def rewrite_out(made: Rewritten) -> wire.RewriteOut:
    """The new branch, and what became of the old one."""
    (out,) = branches_out([made.branch])
    return wire.RewriteOut(
        run=made.branch.run_id, branch=out, checkpoint=made.first.pk, old=preview_out(made.old)
    )


def _call(call: ToolCall, number: int | None) -> wire.TouchedCall:
    fields: dict[str, Any] = {
        "id": call.pk,
        "tool": call.tool_name,
        "effect": call.effect,
        "state": call.state,
        "at": call.ended_at or call.started_at or call.created_at,
    }
    if number is not None:
        fields["request"] = number
    return wire.TouchedCall(**fields)
