"""Names of teams and agents that differ in letter case only are one name."""

from collections import defaultdict

from django.db import migrations, models
from django.db.models.functions import Lower


def tell_apart(apps, schema_editor):
    """Renames what the new constraints would refuse: the second finance becomes finance (2)."""
    for model in ("Team", "Agent"):
        taken = defaultdict(set)
        rows = apps.get_model("accounts", model).objects.order_by("created_at", "id")
        for row in rows:
            name, number = row.name, 1
            while name.lower() in taken[row.workspace_id]:
                number += 1
                end = f" ({number})"
                name = row.name[: 120 - len(end)] + end
            taken[row.workspace_id].add(name.lower())
            if name != row.name:
                rows.filter(pk=row.pk).update(name=name)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_session_epoch")]

    operations = [
        migrations.RunPython(tell_apart, migrations.RunPython.noop),
        migrations.RemoveConstraint("team", "team_name_once"),
        migrations.RemoveConstraint("agent", "agent_name_once"),
        migrations.AddConstraint(
            "team", models.UniqueConstraint("workspace", Lower("name"), name="team_name_once")
        ),
        migrations.AddConstraint(
            "agent", models.UniqueConstraint("workspace", Lower("name"), name="agent_name_once")
        ),
    ]
