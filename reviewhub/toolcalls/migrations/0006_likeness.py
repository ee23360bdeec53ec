from django.db import migrations, models


class Migration(migrations.Migration):
    """The next one fills it: a table with changes that wait for their commit cannot be altered on PostgreSQL."""

    dependencies = [("toolcalls", "0005_shadow")]

    operations = [
        migrations.AddField(
            "callversion", "likeness", models.CharField(default="", max_length=64), preserve_default=False
        ),
        migrations.RemoveIndex("callversion", "call_version_digest"),
        migrations.AddIndex("callversion", models.Index(fields=["likeness"], name="call_version_likeness")),
    ]
