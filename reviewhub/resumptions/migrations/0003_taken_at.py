from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('resumptions', '0002_failures'),
    ]

    operations = [
        migrations.AddField(
            model_name='resumption',
            name='taken_at',
            field=models.DateTimeField(null=True),
        ),
    ]
