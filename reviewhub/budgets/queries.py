"""Which budget is in force."""

from __future__ import annotations

from django.conf import settings

from reviewhub.budgets.rules import Budget


def default_budget() -> Budget:
    """The installation's, from the settings: in force where an admin has set no other."""
    return Budget(field_bytes=settings.BUDGET_FIELD_BYTES, step_bytes=settings.BUDGET_STEP_BYTES)
