"""A tool call, as policy sees it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from reviewhub.policies.arguments import Arguments


@dataclass(frozen=True, kw_only=True)
class Call:
    """What policy may know of a tool call. Checks and wishes are the agent's word and tighten only.

    `known` says that the tool is registered just as it was when the policy was published: nobody looked at any other.
    """

    tool: str
    registered: bool
    known: bool
    effect: str | None
    agent: str
    agent_team: str
    environment: str
    arguments: Arguments = field(default_factory=lambda: Arguments("{}"), compare=False)
    schema_problem: str = ""
    failed_checks: tuple[str, ...] = ()
    wished_decisions: tuple[str, ...] | None = None
    wished_deadline_seconds: int | None = None
    plan_step: str = ""

    @property
    def about(self) -> dict[str, str]:
        """What an expression may know beside the arguments."""
        return {
            "tool": self.tool,
            "effect": self.effect or "",
            "agent": self.agent,
            "team": self.agent_team,
            "environment": self.environment,
            "plan_step": self.plan_step,
        }
