"""What is for ever cannot be changed, on both databases, whatever the statement."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models.signals import post_migrate
from django.db.transaction import atomic
from reviewhub_agents import wire

from reviewhub.accounts.models import Workspace
from reviewhub.audit import triggers
from reviewhub.audit.checks import append_only_is_guarded
from reviewhub.audit.guards import ANYTHING, GUARDS
from reviewhub.audit.kinds import AuditErased
from reviewhub.audit.models import Event, EventPayload
from reviewhub.audit.record import record
from reviewhub.audit.testing import unguarded
from reviewhub.audit.triggers import create_triggers, drop_triggers, missing_triggers
from reviewhub.checkpoints.models import Hold
from reviewhub.core.clock import now
from reviewhub.policies.models import PolicyVersion
from reviewhub.reviews.models import Review
from reviewhub.runs.start import start
from reviewhub.tools.models import Tool
from tests.audit.test_record import MINA, WORKSPACE, Happened, write
from tests.cast import Cast, by_key, make_test_agent
from tests.driver import PersonHttp, agent_of, call, policy

sqlite_only = pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite only")
postgresql_only = pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL only")


@pytest.fixture
def event(db: None) -> Event:
    return write(arguments='{"order":"8812"}')


def refused(sql: str) -> None:
    """The statement is refused by a trigger, as IntegrityError, and nothing happened."""
    with (
        pytest.raises(IntegrityError, match="rows are never"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)


class TestEvents:
    def test_an_event_is_never_changed(self, event: Event) -> None:
        for assignment in ("kind = 'x'", "kind = kind", "xid = 1", "actor_id = NULL"):
            refused(f"UPDATE audit_event SET {assignment}")

    def test_nor_through_the_models(self, event: Event) -> None:
        with pytest.raises(IntegrityError), atomic():
            event.save()
        with pytest.raises(IntegrityError), atomic():
            Event.objects.update(kind="x")
        with pytest.raises(IntegrityError), atomic():
            EventPayload.objects.all().delete()

    def test_an_event_is_never_removed(self, event: Event) -> None:
        refused("DELETE FROM audit_eventpayload")
        refused("DELETE FROM audit_event")
        assert Event.objects.count() == 1

    def test_nor_by_what_begins_as_an_insert(self, event: Event) -> None:
        known = ", ".join(field.column for field in Event._meta.concrete_fields)
        same = f"INSERT INTO audit_event ({known}) SELECT {known} FROM audit_event WHERE true"
        refused(f"{same} ON CONFLICT (id) DO UPDATE SET kind = 'x'")

    @postgresql_only
    @pytest.mark.parametrize(
        "sql",
        [
            "MERGE INTO audit_event e USING (SELECT 1) s ON true WHEN MATCHED THEN UPDATE SET kind = 'x'",
            "MERGE INTO audit_eventpayload e USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE",
            "WITH x AS (UPDATE audit_event SET kind = 'x' RETURNING id) SELECT * FROM x",
            "DELETE FROM ONLY audit_eventpayload USING audit_event e WHERE e.id = event_id",
        ],
    )
    def test_nor_by_other_words_for_it(self, event: Event, sql: str) -> None:
        refused(sql)

    @postgresql_only
    def test_nor_truncated(self, event: Event) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # else PostgreSQL refuses for another reason
        refused("TRUNCATE audit_event CASCADE")
        refused("TRUNCATE audit_eventpayload")

    @postgresql_only
    def test_nor_by_a_session_that_plays_a_replica(self, event: Event) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
        refused("UPDATE audit_event SET kind = 'x'")

    @sqlite_only
    def test_nor_replaced(self, event: Event) -> None:
        refused("INSERT OR REPLACE INTO audit_event SELECT * FROM audit_event")
        refused("REPLACE INTO audit_eventpayload SELECT * FROM audit_eventpayload")
        refused("UPDATE OR REPLACE audit_event SET id = 7")

    @sqlite_only
    def test_without_the_pragma_a_row_could_be_replaced_and_start_refuses(self, event: Event) -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA recursive_triggers=OFF")
            try:
                assert any("recursive_triggers" in missing for missing in missing_triggers())
            finally:
                cursor.execute("PRAGMA recursive_triggers=ON")
        assert missing_triggers() == []


def erasing(
    *events: int,
    workspace: uuid.UUID = WORKSPACE,
    kind: str = "audit.erased",
    because: str = "asked for",
) -> int:
    """An event that says it erased these."""
    data = AuditErased(because=because, event_ids=list(events))
    if kind == "audit.erased":
        return record(kind, workspace_id=workspace, actor=MINA, data=data).id
    return write(data=Happened(tool=data.model_dump_json().replace(" ", ""))).pk


class TestErasure:
    ERASED = {"salt": b"", "actor_name": "", "sentence": "", "body": "", "arguments": ""}

    def test_the_erasure_passes_once(self, event: Event) -> None:
        rows = EventPayload.objects.filter(pk=event.pk)
        for others in ((), (event.pk + 1000,), (event.pk + 1000, event.pk + 2000)):
            with transaction.atomic():
                by = erasing(*others[:1], event.pk, *others[1:])
                assert rows.update(**self.ERASED, erased_at=now(), erased_by=by) == 1
                transaction.set_rollback(True)
        assert rows.update(**self.ERASED, erased_at=now(), erased_by=erasing(event.pk)) == 1
        with pytest.raises(IntegrityError), atomic():
            rows.update(erased_at=now())
        with pytest.raises(IntegrityError), atomic():
            rows.update(erased_at=None)

    @pytest.mark.parametrize("kept", ["salt", "actor_name", "sentence", "body", "arguments"])
    def test_half_an_erasure_is_refused(self, event: Event, kept: str) -> None:
        fields = {name: value for name, value in self.ERASED.items() if name != kept}
        with pytest.raises(IntegrityError), atomic():
            EventPayload.objects.update(**fields, erased_at=now(), erased_by=erasing(event.pk))

    def test_emptying_without_saying_so_is_refused(self, event: Event) -> None:
        with pytest.raises(IntegrityError), atomic():
            EventPayload.objects.update(**self.ERASED, erased_by=erasing(event.pk))

    @pytest.mark.parametrize(
        "by", ["nothing", "another's", "one that names others", "its reason alone", "one of another kind"]
    )
    def test_what_no_erasure_names_is_not_emptied(self, event: Event, by: str) -> None:
        """Nor is the whole record, by the one statement that would do it."""
        named = {
            "nothing": lambda: None,
            "another's": lambda: erasing(event.pk, workspace=uuid.uuid4()),
            "one that names others": lambda: erasing(event.pk * 10, event.pk + 10**6, int(f"1{event.pk}")),
            "its reason alone": lambda: erasing(event.pk + 10**6, because=f"calls 1,{event.pk},{event.pk}]"),
            "one of another kind": lambda: erasing(event.pk, kind="tests.happened"),
        }[by]()
        with pytest.raises(IntegrityError), atomic():
            EventPayload.objects.update(**self.ERASED, erased_at=now(), erased_by=named)
        assert not EventPayload.objects.filter(erased_at__isnull=False).exists()

    def test_nor_is_that_of_a_run_under_hold(self, cast: Cast) -> None:
        key = make_test_agent(cast.support)[1]
        run = start(key=key, body=wire.RunStart(), actor=by_key(key))[0]
        rows = EventPayload.objects.filter(event__run_id=run.pk)
        ids = list(rows.values_list("pk", flat=True))
        Hold.objects.create(run=run, reason="a lawsuit", by_name="Alice")
        named = erasing(*ids, workspace=run.workspace_id)
        with pytest.raises(IntegrityError), atomic():
            rows.update(**self.ERASED, erased_at=now(), erased_by=named)
        Hold.objects.all().delete()
        assert rows.update(**self.ERASED, erased_at=now(), erased_by=named) == len(ids) > 0

    def test_a_payload_does_not_move_to_another_event(self, event: Event) -> None:
        other = write()
        with pytest.raises(IntegrityError), atomic():
            EventPayload.objects.filter(pk=other.pk).update(
                **self.ERASED, erased_at=now(), erased_by=erasing(other.pk), event_id=event.pk + 99
            )


def test_what_people_said_and_what_was_started_stays(cast: Cast) -> None:
    """Votes but that they become void, and that an erasure empties their words; attempts whatever happens."""
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    one, two = agent.pause(agent.run()["id"], call("a"), call("b", "call_2")).ok(201)["tool_calls"]
    bob.decide(one, "approve", message="fine", note="mine").ok()
    bob.decide(two, "reject", message="Not now.").ok()
    agent.consume(one).ok()
    for statement in ("SET started_at = NULL", "SET epoch = 7", "SET number = number + 1"):
        refused(f"UPDATE toolcalls_attempt {statement}")
    refused("DELETE FROM toolcalls_attempt")
    refused("DELETE FROM reviews_review")
    rows = Review.objects.all()
    void = {"voided_at": now(), "voided_because": "edited"}
    for changes in (
        {"verdict": "reject"},
        {"message": ""},
        {"name": "Carol"},
        {"voided_because": "edited"},
        {**void, "verdict": "reject"},
        {**void, "message": ""},
        {"member": cast.dave},
    ):
        with pytest.raises(IntegrityError), atomic():
            rows.update(**changes)
    assert rows.update(**void) == 2
    for changes in ({"voided_at": None}, {"voided_at": now()}, {"voided_because": "x"}):
        with pytest.raises(IntegrityError), atomic():
            rows.update(**changes)


# Rows that change while they live, and on which a decision or what came of it rests.
LIVING = (
    "reviews_comment",
    "reviews_followup",
    "reviews_postreview",
    "reviews_question",
    "reviews_reviewrequest",
    "runs_branch",
    "runs_run",
    "standing_standingapproval",
    "toolcalls_pause",
    "toolcalls_toolcall",
    "tools_tool",
)


def test_what_a_decision_rests_on_does_not_go(cast: Cast) -> None:
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    run = agent.run()["id"]
    one, _ = agent.pause(run, call("a"), call("b", "call_2")).ok(201)["tool_calls"]
    bob.decide(one, "approve").ok()
    for table in ("toolcalls_grant", "toolcalls_pause", "toolcalls_toolcall", "tools_tool"):
        refused(f"DELETE FROM {table}")
    for table in ("reviews_reviewrequest", "runs_branch", "runs_run"):
        refused(f"DELETE FROM {table}")
    with pytest.raises(IntegrityError), atomic():
        Tool.objects.filter(name="b")._raw_delete("default")


def test_what_changes_and_never_goes_is_named_here() -> None:
    assert tuple(guard.table for guard in GUARDS if guard.unless == ANYTHING) == LIVING


def test_a_grant_is_for_what_it_was_for_and_used_once(cast: Cast) -> None:
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    one, two = agent.pause(agent.run()["id"], call("a"), call("b", "call_2")).ok(201)["tool_calls"]
    bob.decide(one, "approve").ok()
    bob.decide(two, "reject", message="No.").ok()
    for statement in (
        "SET digest = 'sha256:1'",
        "SET version = 2",
        "SET by_policy = NOT by_policy",
        f"SET tool_call_id = (SELECT id FROM toolcalls_toolcall WHERE tool_name = '{two['tool']}')",
    ):
        refused(f"UPDATE toolcalls_grant {statement}")
    agent.consume(one).ok()
    for statement in ("SET state = 'open', consumed_at = NULL", "SET expires_at = NULL", "SET state = state"):
        refused(f"UPDATE toolcalls_grant {statement}")
    refused("DELETE FROM toolcalls_grant")


def test_every_guarded_table_is_there_and_refuses(cast: Cast) -> None:
    tables = set(connection.introspection.table_names())
    assert {guard.table for guard in GUARDS} <= tables
    PolicyVersion.objects.create(workspace=cast.workspace, number=1, rules="[]", author_name="Alice")
    refused("UPDATE policies_policyversion SET rules = '[1]'")
    refused("DELETE FROM policies_policyversion")


@pytest.mark.django_db
def test_a_guard_knows_every_key_by_which_a_row_could_be_replaced() -> None:
    with connection.cursor() as cursor:
        for guard in GUARDS:
            found = connection.introspection.get_constraints(cursor, guard.table).values()
            unique = {frozenset(one["columns"]) for one in found if one["unique"] or one["primary_key"]}
            keys = [key.partition(" WHERE ")[0] for key in guard.keys]
            assert {frozenset(key.split()) for key in keys} == unique, guard.table


@sqlite_only
@pytest.mark.django_db
def test_no_row_is_replaced_through_a_connection_that_is_not_ours() -> None:
    """Python's own, as it comes: without foreign keys and recursive triggers. The same schema, a row in each table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
        schema = [sql for (sql,) in cursor.fetchall()]
    plain = sqlite3.connect(":memory:", isolation_level=None)
    for sql in sorted(schema, key=lambda sql: ("TRIGGER" in sql[:20], "INDEX" in sql[:20])):
        plain.execute(sql)
    plain.execute(
        "PRAGMA ignore_check_constraints=ON"
    )  # Which values a column takes is not what is asked here.
    assert plain.execute("PRAGMA recursive_triggers").fetchone() == (0,)
    for guard in GUARDS:
        columns = plain.execute(f"PRAGMA table_info({guard.table})").fetchall()
        kinds = {name: kind for _, name, kind, *_ in columns}

        # What a condition of a key wants is so in each row; any text is not the empty one.
        conditions = [key.partition(" WHERE ")[2].split() for key in guard.keys if " WHERE " in key]
        fixed = {
            name: None if sign == "IS" else value.strip("'")
            for name, sign, value in conditions
            if sign != "<>"
        }

        def row(
            number: int, kinds: dict[str, str] = kinds, fixed: dict[str, str | None] = fixed
        ) -> dict[str, Any]:
            return {name: _some(name, kind, number) for name, kind in kinds.items()} | fixed

        def put(how: str, values: dict[str, Any], table: str = guard.table) -> None:
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            plain.execute(f"INSERT {how} INTO {table} ({names}) VALUES ({marks})", list(values.values()))

        put("", row(1))
        before = plain.execute(f"SELECT rowid, * FROM {guard.table}").fetchall()
        for key in guard.keys:
            same = {name: row(1)[name] for name in key.partition(" WHERE ")[0].split()}
            for how in ("OR REPLACE", "OR IGNORE", ""):
                with pytest.raises(sqlite3.IntegrityError, match="nor written anew"):
                    put(how, row(2) | same)
        with pytest.raises(sqlite3.IntegrityError, match="nor written anew"):
            put("OR REPLACE", row(3) | {"rowid": before[0][0]})
        assert plain.execute(f"SELECT rowid, * FROM {guard.table}").fetchall() == before
        put("", row(4))


def _some(name: str, kind: str, number: int) -> Any:
    """A value for a column; of a removal's account, what the guard finds: nothing went."""
    if name in ("checkpoints", "blobs", "bytes"):
        return 0
    if "int" in kind.lower():
        return number
    return bytes([number]) if kind == "BLOB" else f"{name} {number}"


@pytest.mark.django_db
class TestUpkeep:
    def test_nothing_is_missing_after_migrate(self) -> None:
        assert missing_triggers() == []
        assert append_only_is_guarded(databases=["default"]) == []

    def test_each_missing_trigger_is_named(self) -> None:
        wanted = triggers._wanted(connection)
        for trigger in wanted:
            with connection.cursor() as cursor:
                cursor.execute(triggers._drop(connection, trigger.name, trigger.table))
            assert missing_triggers() == [trigger.name]
            (warning,) = append_only_is_guarded(databases=["default"])
            assert warning.id == "reviewhub.W001" and trigger.name in warning.msg
            create_triggers()
            assert missing_triggers() == []

    @postgresql_only
    def test_a_disabled_trigger_is_a_missing_one(self) -> None:
        name = triggers._wanted(connection)[0].name
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE audit_event DISABLE TRIGGER {name}")
        assert missing_triggers() == [name]
        create_triggers()
        assert missing_triggers() == []

    def test_an_outdated_trigger_is_replaced(self) -> None:
        drop_triggers()
        stale = triggers._wanted(connection)[0]
        name = stale.name[:-8] + "00000000"
        with connection.cursor() as cursor:
            cursor.execute(stale.sql.replace(stale.name, name))
        assert stale.name in missing_triggers()
        create_triggers()
        assert missing_triggers() == []
        assert name not in triggers.guards_in_force(connection)

    def test_making_them_twice_changes_nothing(self) -> None:
        before = triggers.guards_in_force(connection)
        create_triggers()
        assert triggers.guards_in_force(connection) == before

    def test_before_the_first_migration_nothing_is_made_or_said(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with unguarded():
            monkeypatch.setattr(connection.introspection, "table_names", lambda *a, **k: ["audit_event"])
            create_triggers()
            assert set(triggers.guards_in_force(connection).values()) == {"audit_event"}
            monkeypatch.setattr(connection.introspection, "table_names", lambda *a, **k: [])
            assert append_only_is_guarded(databases=["default"]) == []
            monkeypatch.undo()


@pytest.fixture
def wide_name(transactional_db: None) -> Iterator[models.Field]:  # type: ignore[type-arg]
    """`author_name` of policy versions, as a migration would widen it; put back afterwards.

    Not a table that another one's trigger names: SQLite rebuilds none such, and `migrate` drops all guards before.
    """
    old = PolicyVersion._meta.get_field("author_name")
    new = models.CharField(max_length=old.max_length + 1)
    new.set_attributes_from_name("author_name")
    new.model = PolicyVersion
    yield new
    with connection.schema_editor() as editor:
        editor.alter_field(PolicyVersion, new, old)
    create_triggers()


def test_triggers_survive_a_rebuilt_table(wide_name: models.Field) -> None:  # type: ignore[type-arg]
    with connection.schema_editor() as editor:
        editor.alter_field(PolicyVersion, PolicyVersion._meta.get_field("author_name"), wide_name)
    if connection.vendor == "sqlite":
        assert len(missing_triggers()) == 3, "the rebuild drops them: the reason for all of this"
    call_command("migrate", verbosity=0)
    assert missing_triggers() == []
    with transaction.atomic():
        workspace = Workspace.objects.create(slug="w", name="W")
        PolicyVersion.objects.create(workspace=workspace, number=1, rules="[]", author_name="Alice")
    with pytest.raises(IntegrityError):
        PolicyVersion.objects.update(number=2)


def test_a_transactional_test_may_leave_events_behind(transactional_db: None) -> None:
    with transaction.atomic():
        write()


def test_and_the_next_one_finds_none_and_all_guards(transactional_db: None) -> None:
    assert not Event.objects.exists()
    assert missing_triggers() == []
    assert post_migrate.has_listeners()
