from django.db import migrations, models


class Migration(migrations.Migration):
    """How many in a hundred of such calls are looked at afterwards."""

    dependencies = [("toolcalls", "0007_alike")]

    operations = [migrations.AddField("toolcall", "sample_percent", models.PositiveSmallIntegerField(null=True))]
