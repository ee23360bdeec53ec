"""The words of the calls that are there, so that they are found as new ones are."""

import re
from itertools import islice

from django.db import migrations

from reviewhub.core.display.masking import masked
from reviewhub.core.words import values_in, words_text

PLACES = re.compile(r"\{[^{}]*\}")


def fill(apps, schema_editor):
    """Those of every version of a call are its words, the newest first."""
    calls, words = apps.get_model("toolcalls", "ToolCall"), apps.get_model("runs", "Words")
    tools = {
        (agent, name): (sentence, schema)
        for agent, name, sentence, schema in apps.get_model("tools", "Tool").objects.values_list(
            "agent_id", "name", "sentence", "schema"
        )
    }
    rows = calls.objects.order_by("pk").select_related("agent").prefetch_related("versions").iterator(200)
    for some in iter(lambda: list(islice(rows, 200)), []):
        words.objects.bulk_create(
            words(workspace_id=call.workspace_id, run_id=call.run_id, call_id=call.pk, words=found(call, tools))
            for call in some
        )


def found(call, tools):
    sentence, schema = tools.get((call.agent_id, call.tool_name), ("", ""))
    values = [
        value
        for version in sorted(call.versions.all(), key=lambda one: -one.version)
        for value in values_in(masked(version.arguments, schema))
    ]
    return words_text([call.tool_name, call.agent.name, PLACES.sub(" ", sentence), *values])


class Migration(migrations.Migration):
    """Data only."""

    dependencies = [("toolcalls", "0009_sampled"), ("runs", "0009_words"), ("tools", "0002_schema_fingerprint")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
