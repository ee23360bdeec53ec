"""A call that a rule observes has ended: a sample of them is drawn for a later look."""

from __future__ import annotations

from reviewhub_agents import canonical

from reviewhub.reviews.draw import draw_sampled
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.tools.models import Tool
from reviewhub.tools.shown import shown


def look_later(call: ToolCall) -> None:
    """Draws a call that just ended, or leaves it, in the caller's transaction. What people approved is not drawn."""
    if call.sample_percent is None:
        return
    attempt = call.attempts.select_related("grant").order_by("-number").first()
    if attempt is None or not attempt.grant.by_policy:
        return
    tool = Tool.objects.filter(agent_id=call.agent_id, name=call.tool_name).first()
    if tool is None:
        return
    because = canonical.reread(call.because)
    draw_sampled(
        call=call,
        run=call.run,
        agent=call.run.agent,
        tool=tool,
        shown=shown(tool, arguments_of(call, attempt.grant.version)),
        because=str(because.get("text", "")) if isinstance(because, dict) else "",
    )
