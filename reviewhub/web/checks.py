"""Checks of a call as pages show them: the agent's own, and what others say of it, each with its source."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from reviewhub.toolcalls.models import ToolCall
from reviewhub.verdicts.models import Verdict


@dataclass(frozen=True)
class Check:
    """A check that the agent says it made, or, with `verdict`, what somebody outside of it says."""

    name: str
    status: str
    detail: str
    source: str = ""
    verdict: bool = False

    @property
    def said_by(self) -> str:
        """Who says it, in words."""
        kind = self.source
        if self.verdict:
            return {"webhook": "by a webhook", "person": "by a person"}.get(
                kind, f"by a {kind} of the agent's"
            )
        return f"by a {kind} of the agent's" if kind in ("function", "model") else "by the agent"

    @property
    def is_bad(self) -> bool:
        """Whether it speaks against the call: failed, or not made."""
        return self.status in ("failed", "error", "timed_out")

    @property
    def word(self) -> str:
        """How it came out, in a word."""
        words = {"failed": "Failed", "error": "Could not check", "timed_out": "Timed out", "passed": "Passed"}
        return words.get(self.status, "Pending" if self.status == "pending" else "Unknown")


def verdicts_on(calls: Sequence[ToolCall]) -> dict[uuid.UUID, list[Check]]:
    """What others say of these calls, by the call's id, in order; one query."""
    found: dict[uuid.UUID, list[Check]] = {}
    for one in Verdict.objects.filter(tool_call__in=calls).order_by("created_at", "id"):
        check = Check(one.name, one.status, one.detail, one.source, verdict=True)
        if one.tool_call_id is not None:
            found.setdefault(one.tool_call_id, []).append(check)
    return found
