"""Equal calls are found by the digests of their versions; that of the newest one alone is asked for nowhere."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("toolcalls", "0002_checkpoints_may_go")]

    operations = [
        migrations.RemoveIndex("toolcall", "call_run_digest"),
        migrations.AddIndex("callversion", models.Index(fields=["digest"], name="call_version_digest")),
    ]
