import django.db.models.deletion
from django.db import migrations, models


def key(to, related_name, **more):
    """A foreign key without an index of its own."""
    return models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name=related_name, to=to, **more)


class Migration(migrations.Migration):
    """The whole states go, and indexes that others make superfluous."""

    dependencies = [("checkpoints", "0003_carry_over")]

    operations = [
        migrations.RemoveField("checkpoint", "body"),
        # Ascending, so that a new row goes to the end of it; it is read backwards.
        migrations.RemoveIndex("checkpoint", "checkpoint_run"),
        migrations.AddIndex("checkpoint", models.Index(fields=["run", "created_at", "id"], name="checkpoint_newest")),
        migrations.AlterField("checkpoint", "workspace", key("accounts.workspace", "+")),
        migrations.AlterField("checkpoint", "run", key("runs.run", "checkpoints")),
        migrations.AlterField("checkpoint", "branch", key("runs.branch", "checkpoints")),
        migrations.AlterField("checkpoint", "parent", key("checkpoints.checkpoint", "children", null=True)),
    ]
