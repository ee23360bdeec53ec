from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0008_written_at_once'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='event',
            index=models.Index(
                fields=["workspace_id", "kind", "actor_kind", "-at", "-id"], name="event_kind_by_actor"
            ),
        ),
    ]
