from django.db import migrations, models

from reviewhub.tools.rules import schema_fingerprint


def fill(apps, schema_editor):
    Tool = apps.get_model("tools", "Tool")
    registered = Tool.objects.filter(registered_at__isnull=False).only("name", "schema", "effect")
    for tool in registered.iterator(chunk_size=200):
        mark = schema_fingerprint(name=tool.name, schema=tool.schema, effect=tool.effect)
        Tool.objects.filter(pk=tool.pk).update(schema_fingerprint=mark)


class Migration(migrations.Migration):

    dependencies = [
        ("tools", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="tool",
            name="schema_fingerprint",
            field=models.CharField(blank=True, max_length=80, default=""),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
