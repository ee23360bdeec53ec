from django.db import migrations, models
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual


def keep_compressed_bytes_apart(apps, schema_editor):
    """On PostgreSQL: what is compressed already is not tried to be compressed again."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE checkpoints_storedbytes ALTER COLUMN data SET STORAGE EXTERNAL")


class Migration(migrations.Migration):
    """The bytes of a blob may be in a blob store."""

    dependencies = [("checkpoints", "0006_state_schemas")]

    operations = [
        migrations.AlterField("blob", "data", models.BinaryField(null=True)),
        migrations.AddField("blob", "location", models.CharField(max_length=300, null=True)),
        migrations.AddField("blob", "size", models.PositiveIntegerField(null=True)),
        migrations.AddConstraint(
            "blob",
            models.CheckConstraint(
                condition=models.Q(data__isnull=False) | models.Q(location__isnull=False, size__isnull=False),
                name="blob_is_somewhere",
            ),
        ),
        migrations.CreateModel(
            name="Leftover",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("location", models.CharField(max_length=300, unique=True)),
                ("due_at", models.DateTimeField(db_index=True)),
                ("is_going", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="StoreState",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("ok_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("problem", models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name="StoredBytes",
            fields=[
                ("key", models.CharField(max_length=300, primary_key=True, serialize=False)),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.RunPython(keep_compressed_bytes_apart, migrations.RunPython.noop),
        migrations.AddIndex(
            "blob",
            models.Index(
                fields=["run"],
                condition=models.Q(data__isnull=False) & models.Q(GreaterThanOrEqual(Length("data"), 16384)),
                name="blob_large",
            ),
        ),
    ]
