"""What the record says about budgets."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


class _OfStates(Payload):
    """Of which states; `state` is the name of their schema, empty for those of all others."""

    agent: str
    state: str

    @property
    def whose(self) -> str:
        """Whose states, in words."""
        return f"{self.agent} ({self.state})" if self.state else self.agent


@kind("budget.set", says="{actor} set what the states of {whose} may weigh: {limits_said}")
class BudgetSet(_OfStates):
    """An admin set a budget. Limits are lines like `each field: 512000`; `before` is empty where it was the default."""

    limits: list[str]
    before: list[str]

    @property
    def limits_said(self) -> str:
        """The limits in one line."""
        return ", ".join(self.limits) or "anything"


@kind("budget.removed", says="{actor} gave the states of {whose} the default budget again")
class BudgetRemoved(_OfStates):
    """An admin removed a budget."""

    before: list[str]
