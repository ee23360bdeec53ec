"""Who edited a request that was approved with changes stands beside who approved it last."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models import F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce


def fill(apps: Any, schema_editor: Any) -> None:
    """The author of the version that was approved, of what is closed already."""
    versions = apps.get_model("toolcalls", "CallVersion").objects.using(schema_editor.connection.alias)
    mine = versions.filter(tool_call_id=OuterRef("tool_call_id"), version=OuterRef("version"))
    rows = apps.get_model("reviews", "ReviewRequest").objects.using(schema_editor.connection.alias)
    rows.filter(state="edited").update(
        edited_by_name=Coalesce(
            Subquery(mine.values("author_name")[:1]), F("decided_by_name"), Value("")
        )
    )


class Migration(migrations.Migration):
    dependencies = [("reviews", "0016_look_filters"), ("toolcalls", "0010_words")]

    operations = [
        migrations.AddField(
            model_name="reviewrequest",
            name="edited_by_name",
            field=models.CharField(blank=True, default="", max_length=200),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="reviewrequest",
            constraint=models.CheckConstraint(
                condition=Q(state="edited") | Q(edited_by_name=""), name="request_edited_by"
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
