"""Whose an agent was when it asked for a call."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def fill(apps: Any, schema_editor: Any) -> None:
    """Of calls that people may still be asked about: whose the agent is now, since nobody wrote down more."""
    alias = schema_editor.connection.alias
    agents = apps.get_model("accounts", "Agent").objects.using(alias).filter(pk=OuterRef("agent_id"))
    calls = apps.get_model("toolcalls", "ToolCall").objects.using(alias)
    still = calls.filter(state__in=["proposed", "waiting", "allowed", "started", "unknown", "failed"])
    still.update(agent_owned_by_id=Subquery(agents.values("owner_id")[:1]))


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
        ("toolcalls", "0011_shadow_undecided"),
    ]

    operations = [
        migrations.AddField(
            model_name="toolcall",
            name="agent_owned_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="accounts.member",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
