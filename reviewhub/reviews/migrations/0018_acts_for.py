"""Whom a request's run acts for, as it reads, where an agent wrote it in odd characters."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from reviewhub.reviews.named import ODD, reading


def fill(apps: Any, schema_editor: Any) -> None:
    """Of what waits: there are runs above it, or its run acts for somebody who is written oddly."""
    alias = schema_editor.connection.alias
    rows = apps.get_model("reviews", "ReviewRequest").objects.using(alias).filter(state="pending")
    runs = apps.get_model("runs", "Run").objects.using(alias)
    odd = rows.filter(run__on_behalf_of__regex=ODD) | rows.filter(run__parent__isnull=False)
    for row in odd.select_related("run").iterator(500):
        texts, run = [row.run.on_behalf_of], row.run
        while run.parent_id is not None:
            run = runs.get(pk=run.parent_id)
            texts.append(run.on_behalf_of)
        rows.filter(pk=row.pk).update(acts_for=reading(texts))


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_squashed_0017_edited_by"), ("runs", "0010_agent_owned_by")]

    operations = [
        migrations.AddField(
            model_name="reviewrequest",
            name="acts_for",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
