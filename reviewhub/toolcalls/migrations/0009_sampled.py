from django.db import migrations, models


class Migration(migrations.Migration):
    """How many in a hundred of such calls are looked at afterwards."""

    dependencies = [("toolcalls", "0008_figures")]

    operations = [migrations.AddField("toolcall", "sample_percent", models.PositiveSmallIntegerField(null=True))]
