import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Max


def fill(apps, schema_editor):
    """The version in force of each workspace knows the tools that are registered at the time of the upgrade."""
    Version = apps.get_model("policies", "PolicyVersion")
    Known = apps.get_model("policies", "KnownTool")
    Tool = apps.get_model("tools", "Tool")
    newest = Version.objects.values("workspace").annotate(newest=Max("number")).values_list("workspace", "newest")
    for workspace, number in newest:
        version = Version.objects.only("id").get(workspace=workspace, number=number)
        tools = Tool.objects.filter(workspace=workspace, registered_at__isnull=False)
        Known.objects.bulk_create(
            Known(version=version, agent_id=agent, name=name, schema_fingerprint=mark)
            for agent, name, mark in tools.values_list("agent", "name", "schema_fingerprint")
        )


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0005_names_folded_here"),
        ("tools", "0002_schema_fingerprint"),
        ("policies", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="KnownTool",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("schema_fingerprint", models.CharField(max_length=80)),
                ("agent", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.agent")),
                ("version", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="known_tools", to="policies.policyversion")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("version", "agent", "name"), name="known_tool_once"),
                    models.CheckConstraint(condition=models.Q(("schema_fingerprint", ""), _negated=True), name="known_tool_registered"),
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
