import django.db.models.deletion
from django.db import migrations, models


def keep_compressed_bytes_apart(apps, schema_editor):
    """On PostgreSQL: what is compressed already is not tried to be compressed again."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE checkpoints_blob ALTER COLUMN data SET STORAGE EXTERNAL")
        schema_editor.execute("ALTER TABLE checkpoints_checkpoint ALTER COLUMN content SET STORAGE EXTERNAL")


class Migration(migrations.Migration):
    """The columns and the table of the store that keeps what changed."""

    dependencies = [
        ("checkpoints", "0001_initial"),
        ("runs", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Blob",
            fields=[
                ("pk", models.CompositePrimaryKey("run_id", "hash", blank=True, editable=False, primary_key=True, serialize=False)),
                ("run", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.run")),
                ("hash", models.BinaryField(max_length=32)),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.AddField("checkpoint", "base", models.PositiveIntegerField(default=0), preserve_default=False),
        migrations.AddField("checkpoint", "content", models.BinaryField(default=b""), preserve_default=False),
        migrations.RunPython(keep_compressed_bytes_apart, migrations.RunPython.noop),
    ]
