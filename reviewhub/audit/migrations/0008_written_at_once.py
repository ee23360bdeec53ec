from typing import Any

from django.db import migrations

# Both rows in one round trip, as plans that PostgreSQL keeps: half the work of the two statements. The time is its own,
# so it makes the leaf that the time is part of (`audit.leaf`).
RECORD = """
CREATE FUNCTION reviewhub_record(
    of_workspace uuid, of_kind text, happened timestamptz, head bytea, said bytea, by_kind text, by_id uuid,
    with_tool text, of_run uuid, of_pause uuid, of_request uuid, of_agent uuid, of_subject uuid,
    salted bytea, name_then text, in_words text, whole text, with_arguments text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := coalesce(happened, clock_timestamp());
    made bigint;
BEGIN
    INSERT INTO audit_event (workspace_id, kind, at, leaf, actor_kind, actor_id, tool, run_id, pause_id, request_id,
        agent_id, subject_id)
    VALUES (of_workspace, of_kind, moment,
        sha256(head || int8send((extract(epoch FROM moment) * 1000000)::bigint) || said), by_kind, by_id, with_tool,
        of_run, of_pause, of_request, of_agent, of_subject)
    RETURNING id INTO made;
    INSERT INTO audit_eventpayload (event_id, salt, actor_name, sentence, body, arguments)
    VALUES (made, salted, name_then, in_words, whole, with_arguments);
    RETURN made;
END $$
"""


def make_record(apps: Any, schema_editor: Any) -> None:
    """PostgreSQL only: SQLite is asked without a round trip."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(RECORD)


def drop_record(apps: Any, schema_editor: Any) -> None:
    """The function goes; the rows stay."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION reviewhub_record")


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0007_export'),
    ]

    operations = [
        migrations.RunPython(make_record, drop_record),
    ]
