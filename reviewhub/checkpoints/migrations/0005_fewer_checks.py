import django.db.models.deletion
from django.db import migrations, models


def key(to, related_name, **more):
    """A foreign key that Django follows and the database does not check."""
    return models.ForeignKey(
        db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name=related_name, to=to, **more
    )


class Migration(migrations.Migration):
    """Workspace, run and parent are right because the statement that saves takes them from the branch."""

    dependencies = [("checkpoints", "0004_drop_the_whole_state")]

    operations = [
        migrations.AlterField("checkpoint", "workspace", key("accounts.workspace", "+")),
        migrations.AlterField("checkpoint", "run", key("runs.run", "checkpoints")),
        migrations.AlterField("checkpoint", "parent", key("checkpoints.checkpoint", "children", null=True)),
    ]
