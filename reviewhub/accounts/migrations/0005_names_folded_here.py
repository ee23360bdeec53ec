"""What makes two names one is a column of the row: databases fold letters by rules of their own."""

import unicodedata
from collections import defaultdict

from django.db import migrations, models


def fold(name):
    """As `accounts.rules.fold_name` did when this was written."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def tell_apart(apps, schema_editor):
    """Folds every name, and renames what the new constraints would refuse: the second Île becomes Île (2)."""
    for model in ("Team", "Agent"):
        taken = defaultdict(set)
        rows = apps.get_model("accounts", model).objects.order_by("created_at", "id")
        for row in rows:
            name, number = row.name, 1
            while fold(name) in taken[row.workspace_id]:
                number += 1
                end = f" ({number})"
                name = row.name[: 120 - len(end)] + end
            taken[row.workspace_id].add(fold(name))
            rows.filter(pk=row.pk).update(name=name, folded=fold(name))


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_state_validation")]

    operations = [
        migrations.AddField(
            "team", "folded", models.CharField(max_length=400, editable=False, default=""), preserve_default=False
        ),
        migrations.AddField(
            "agent", "folded", models.CharField(max_length=400, editable=False, default=""), preserve_default=False
        ),
        migrations.RemoveConstraint("team", "team_name_once"),
        migrations.RemoveConstraint("agent", "agent_name_once"),
        migrations.RunPython(tell_apart, migrations.RunPython.noop),
        migrations.AddConstraint(
            "team", models.UniqueConstraint(fields=["workspace", "folded"], name="team_name_once")
        ),
        migrations.AddConstraint(
            "agent", models.UniqueConstraint(fields=["workspace", "folded"], name="agent_name_once")
        ),
    ]
