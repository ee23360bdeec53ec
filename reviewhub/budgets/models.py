"""What admins say that fields of an agent's states may weigh."""

from __future__ import annotations

from django.db import models

from reviewhub.accounts.models import Agent, Workspace


class FieldBudget(models.Model):
    """The budget of an agent's states of one schema, in all its versions; without a name, of its other states.

    0 stands for any number. `fields` is a JSON object of the fields that have a limit of their own.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="field_budgets", db_index=False)
    schema_name = models.CharField(max_length=200, blank=True)
    field_bytes = models.PositiveIntegerField()
    step_bytes = models.PositiveIntegerField()
    fields = models.TextField(default="{}")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "schema_name"], name="field_budget_once")]

    def __str__(self) -> str:
        return self.schema_name or "all states"
