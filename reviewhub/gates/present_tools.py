"""Tools as the API shows them."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.tools.models import Tool


def tool_out(tool: Tool) -> wire.ToolOut:
    """A tool as registered, with the admins' sentence and risk."""
    fields: dict[str, Any] = {
        "name": tool.name,
        "effect": tool.effect,
        "risk": tool.effective_risk,
        "description": tool.description,
        "sentence": tool.sentence,
        "registered": tool.is_registered,
        "time_limit": f"PT{tool.time_limit_seconds}S",
    }
    if tool.schema:
        fields["parameters"] = canonical.reread(tool.schema)
    if tool.result_schema:
        fields["result_schema"] = canonical.reread(tool.result_schema)
    if tool.fingerprint:
        fields["fingerprint"] = tool.fingerprint
    return wire.ToolOut(**fields)
