"""What is drawn for a later look names its run, agent and tool itself, so that a list reads one table."""

import json

import django.db.models.deletion
from django.db import migrations, models

RANK = {"low": 0, "medium": 1, "high": 2, "critical": 3}
BY_EFFECT = {"read": "low", "idempotent": "medium", "once": "high"}


def fill(apps, schema_editor):
    """From the calls of those that are there. Their sentence says the tool only: nothing that may be secret."""
    alias = schema_editor.connection.alias
    rows = apps.get_model("reviews", "PostReview").objects.using(alias)
    for row in rows.select_related("tool_call__run__agent").iterator(chunk_size=500):
        call = row.tool_call
        risk = BY_EFFECT[call.effect]
        words = f"Call {call.tool_name}"
        rows.filter(pk=row.pk).update(
            run_id=call.run_id,
            agent_id=call.agent_id,
            tool_name=call.tool_name,
            agent_name=call.run.agent.name,
            environment=call.run.environment,
            risk=risk,
            rank=4 if call.ran_without_approval else RANK[risk],
            sentence=json.dumps([[words, 0]], ensure_ascii=False),
            plain_sentence=words,
            severity="high" if row.state == "flagged" and not row.severity else row.severity,
        )


def text(most, default=""):
    return models.CharField(default=default, max_length=most)


class Migration(migrations.Migration):
    """Columns that may be empty, filled; the next one says that they are not."""

    dependencies = [
        ("accounts", "0007_sessions_end_by_workspace"),
        ("reviews", "0008_figures"),
        ("runs", "0007_ending"),
        ("toolcalls", "0009_sampled"),
    ]

    operations = [
        migrations.AddField(
            "postreview",
            "run",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="post_reviews", to="runs.run"
            ),
        ),
        migrations.AddField(
            "postreview",
            "agent",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.agent"
            ),
        ),
        migrations.AddField("postreview", "tool_name", text(200), preserve_default=False),
        migrations.AddField("postreview", "agent_name", text(120), preserve_default=False),
        migrations.AddField("postreview", "environment", text(40), preserve_default=False),
        migrations.AddField("postreview", "risk", text(8, "low"), preserve_default=False),
        migrations.AddField(
            "postreview", "rank", models.PositiveSmallIntegerField(default=0), preserve_default=False
        ),
        migrations.AddField("postreview", "sentence", models.TextField(default=""), preserve_default=False),
        migrations.AddField(
            "postreview", "plain_sentence", models.TextField(default=""), preserve_default=False
        ),
        migrations.AddField("postreview", "percent", models.PositiveSmallIntegerField(default=100)),
        migrations.AddField("postreview", "number", models.PositiveSmallIntegerField(null=True)),
        migrations.AddField("postreview", "member_name", models.CharField(blank=True, max_length=200, default=""), preserve_default=False),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
