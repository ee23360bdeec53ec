"""What follows a flag knows how severe that is, so that lists of it begin with the worst."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models import Q

SEVERE = {1: "medium", 2: "high"}  # 0 is low


def fill(apps: Any, schema_editor: Any) -> None:
    """Of what followed before."""
    rows = apps.get_model("reviews", "FollowUp").objects.using(schema_editor.connection.alias)
    looks = apps.get_model("reviews", "PostReview").objects.using(schema_editor.connection.alias)
    for rank, severity in SEVERE.items():
        rows.filter(post_review__in=looks.filter(severity=severity)).update(rank=rank)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0018_acts_for")]

    operations = [
        migrations.RemoveIndex(model_name="followup", name="follow_up_handed"),
        migrations.AddField(
            model_name="followup", name="rank", field=models.PositiveSmallIntegerField(default=0)
        ),
        migrations.AddIndex(
            model_name="followup",
            index=models.Index(
                fields=["to", "-rank", "id"], name="follow_up_handed", condition=Q(state="open")
            ),
        ),
        migrations.AddIndex(
            model_name="followup",
            index=models.Index(
                fields=["workspace", "-rank", "id"],
                name="follow_up_escalated",
                condition=Q(state="open", kind="escalate"),
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
