"""The likeness of the versions that are there, so that what ran before the upgrade is found, too."""

import re
from decimal import Decimal
from hashlib import sha256

from django.db import migrations
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number

from reviewhub.audit.triggers import drop_triggers

AMOUNT = re.compile(r"-?(?:0|[1-9][0-9]{0,40})(?:\.[0-9]{1,40})?", re.ASCII)


def fill(apps, schema_editor):
    """Row by row: their texts may be large."""
    alias = schema_editor.connection.alias
    rows = apps.get_model("toolcalls", "CallVersion").objects.using(alias).filter(likeness="")
    if not rows.exists():
        return
    # The rows are guarded against changes; `migrate` makes the guards again at its end.
    drop_triggers(using=alias)
    for row in rows.select_related("tool_call").iterator(chunk_size=200):
        rows.filter(pk=row.pk).update(likeness=likeness(row.tool_call.tool_name, row.arguments))


def likeness(tool, arguments):
    """As `toolcalls.likeness` was when this was written."""
    text = canonical.dumps({"arguments": alike(canonical.reread(arguments)), "tool": tool})
    return sha256(text.encode()).hexdigest()


def alike(tree):
    """Every number in its shortest spelling."""
    if isinstance(tree, list):
        return [alike(item) for item in tree]
    if isinstance(tree, dict):
        return {name: alike(value) for name, value in tree.items()}
    if isinstance(tree, str):
        return f"={spelled(tree)}" if AMOUNT.fullmatch(tree) else tree
    return Number.trusted(spelled(tree.literal)) if isinstance(tree, Number) else tree


def spelled(literal):
    sign, digits, power = Decimal(literal).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "0"
    kept = text.rstrip("0")
    return f"{'-' if sign else ''}{kept}e{power + len(text) - len(kept)}"


class Migration(migrations.Migration):
    """Data only."""

    dependencies = [("toolcalls", "0006_likeness")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
