"""An action that ran without waiting is drawn for a later look."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from reviewhub.accounts.models import Agent
from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from reviewhub.core.display.sentence import pack, plain
from reviewhub.reviews.asked import risk
from reviewhub.reviews.kinds import PostReviewDrawn
from reviewhub.reviews.models import PostReview
from reviewhub.reviews.request import RANK
from reviewhub.reviews.sampling import Draw, sampled
from reviewhub.reviews.states import UNASKED
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.tools.models import Effect, Risk, Tool
from reviewhub.tools.shown import Shown

ALARM = "It ran without approval."
"""How the reason begins for which such a call is drawn, on record, too."""
LONGEST = 400


def draw_unasked(
    *, call: ToolCall, run: Run, agent: Agent, tool: Tool, shown: Shown, because: str, was_denied: bool
) -> PostReview:
    """Puts a call that ran though policy would have held or denied it into post-review, in the caller's transaction.

    It is an alarm (`alarming`), of high risk whatever the tool's, but for one that only reads: what its agent described
    so, what admins left at low risk, and what policy would have asked about and not denied.
    """
    level = risk(tool=tool, effect=call.effect, failed_checks=0)
    if tool.is_registered and call.effect == Effect.READ and level == Risk.LOW and not was_denied:
        only_reads = Draw(because=f"It only reads, and nobody was asked. {because}", severity="low")
        return _draw(call, run, agent, shown, only_reads, level, RANK[level])
    drawn = Draw(because=f"{ALARM} {because}", severity="high")
    return _draw(call, run, agent, shown, drawn, max(level, Risk.HIGH, key=list(RANK).index), UNASKED)


def alarming(calls: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
    """Those that ran without the approval that they needed, without what only reads."""
    only_reads = PostReview.objects.filter(tool_call=OuterRef("pk"), rank__lt=UNASKED)
    return calls.filter(~Exists(only_reads), ran_without_approval=True)


def draw_sampled(
    *, call: ToolCall, run: Run, agent: Agent, tool: Tool, shown: Shown, because: str
) -> PostReview | None:
    """Puts a call that a rule observes into post-review if it is drawn (`sampling`), in the caller's transaction."""
    level = risk(tool=tool, effect=call.effect, failed_checks=0)
    drawn = sampled(
        call_id=call.pk,
        percent=call.sample_percent or 0,
        risk=level,
        failed=call.state == CallState.FAILED,
        because=because,
    )
    return _draw(call, run, agent, shown, drawn, level, RANK[level]) if drawn else None


def _draw(
    call: ToolCall, run: Run, agent: Agent, shown: Shown, drawn: Draw, level: str, rank: int
) -> PostReview:
    made, is_new = PostReview.objects.get_or_create(
        tool_call=call,
        defaults={
            "workspace_id": call.workspace_id,
            "run": run,
            "agent": agent,
            "tool_name": call.tool_name,
            "agent_name": agent.name,
            "environment": run.environment,
            "risk": level,
            "rank": rank,
            "sentence": pack(shown.sentence),
            "plain_sentence": plain(shown.sentence),
            "drawn_because": drawn.because[:LONGEST],
            "severity": drawn.severity,
            "percent": drawn.percent,
            "number": drawn.number,
        },
    )
    # A call that failed and was tried again is there already: it is looked at once, as it is then.
    if is_new:
        record(
            "post_review.drawn",
            workspace_id=call.workspace_id,
            actor=SYSTEM,
            run_id=call.run_id,
            agent_id=call.agent_id,
            subject_id=call.pk,
            data=PostReviewDrawn(tool=call.tool_name, because=made.drawn_because, severity=drawn.severity),
        )
    return made
