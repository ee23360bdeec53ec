import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [("retention", "0001_initial"), ("retention", "0002_failures")]

    initial = True

    dependencies = [
        ("runs", "0001_squashed_0009_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Progress",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("seen_at", models.DateTimeField(null=True)),
                ("blobs_due", models.BooleanField(default=False)),
                ("failing_since", models.DateTimeField(null=True)),
                ("failed_at", models.DateTimeField(null=True)),
                ("problem", models.TextField(blank=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["seen_at"], name="retention_seen"),
                    models.Index(
                        condition=models.Q(("failing_since__isnull", False)),
                        fields=["failing_since"],
                        name="retention_failing",
                    ),
                ],
            },
        ),
    ]
