"""An old installation is brought to the newest form: nothing it held is lost, and names are told apart first."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps as now
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import StateApps

from reviewhub.accounts.models import Team
from reviewhub.audit.triggers import missing_triggers
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.checkpoints.tree import read_state
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import put, read
from tests.checkpoints.test_carried_over import body


@pytest.fixture
def empty(tmp_path: Path, transactional_db: None) -> Iterator[dict[str, Any]]:
    """The default connection leads to a database without a table; what there is in that of the tests."""
    newest = schema()
    kept = connections["default"]
    made = connections.create_connection("default")
    name = f"{kept.settings_dict['NAME']}_empty" if kept.vendor == "postgresql" else str(tmp_path / "empty")
    made.settings_dict = {**kept.settings_dict, "NAME": name}
    _on_server(kept, "CREATE DATABASE {}", name)
    connections["default"] = made
    try:
        yield newest
    finally:
        made.close()
        connections["default"] = kept
        _on_server(kept, "DROP DATABASE {}", name)


def _on_server(connection: BaseDatabaseWrapper, statement: str, name: str) -> None:
    if connection.vendor == "postgresql":
        with connection._nodb_cursor() as cursor:
            cursor.execute(statement.format(connection.ops.quote_name(name)))


def at(*targets: tuple[str, str]) -> StateApps:
    """Brings the database to these migrations, one by one as they were made, and gives the models as they were then."""
    executor = MigrationExecutor(connection)
    executor.loader.replace_migrations = False
    executor.loader.build_graph()
    executor.migrate(list(targets))
    return executor.loader.project_state(list(targets)).apps


OLD = [("checkpoints", "0001_initial"), ("runs", "0001_initial")]
# Whoever has the first migration of an app goes on by the others of it, not by the one that replaces them all; an app
# that came later (insights, policies, retention) is made at once.
FIRST = [
    (app, "0001_initial") for app in ("audit", "hosting", "resumptions", "reviews", "toolcalls", "tools")
]


def schema() -> dict[str, Any]:
    """Every table of the product with its columns, constraints, indexes and guards; in which order is all the same."""
    found: dict[str, Any] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            columns = connection.introspection.get_table_description(cursor, table)
            constraints = connection.introspection.get_constraints(cursor, table).items()
            found[table] = (
                sorted((column.name, *map(str, column[1:])) for column in columns),
                sorted(_constraint(name, said) for name, said in constraints),
            )
        found["guards"] = sorted(_guards(cursor))
    return found


def _constraint(name: str, said: dict[str, Any]) -> tuple[str, str]:
    if connection.vendor == "sqlite":
        # Some have no name there, and Django numbers them; and it tells the columns of a key as the table has them.
        name = "" if re.fullmatch(r"fk_\d+|__unnamed_.*", name) else name
        said = {**said, "columns": sorted(said["columns"])} if said["primary_key"] else said
    return name, str(said)


def _guards(cursor: Any) -> list[Any]:
    postgresql = connection.vendor == "postgresql"
    cursor.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
        if postgresql
        else "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger'"
    )
    return list(cursor.fetchall())


def test_everything_is_carried_over(empty: dict[str, Any]) -> None:
    then = at(*OLD, *FIRST, ("accounts", "0002_session_epoch"))
    workspace = then.get_model("accounts", "Workspace").objects.create(slug="northwind", name="Northwind")
    teams = then.get_model("accounts", "Team").objects
    support = teams.create(workspace=workspace, name="Support")
    agent = then.get_model("accounts", "Agent").objects.create(
        workspace=workspace, team=support, name="Agent"
    )
    run = then.get_model("runs", "Run").objects.create(
        workspace=workspace, agent=agent, environment="production"
    )
    main, fork = (
        then.get_model("runs", "Branch").objects.create(workspace=workspace, run=run, name=name)
        for name in ("main", "fork-1")
    )
    states_are_carried_over = keep_states(main, fork, then.get_model("checkpoints", "Checkpoint"))
    for name in ("Finance", "finance", "FINANCE"):
        teams.create(workspace=workspace, name=name)
    # A database folds no sharp s, and a letter with an accent may be one sign or two.
    folded_by_the_database = at(*OLD, ("accounts", "0004_state_validation")).get_model("accounts", "Team")
    for name in ("Straße", "STRASSE", "E\u0301quipe", "\u00c9quipe"):
        folded_by_the_database.objects.create(workspace_id=workspace.pk, name=name)

    call_command("migrate", verbosity=0)

    assert missing_triggers() == []
    assert schema() == empty
    states_are_carried_over()
    rows = Team.objects.filter(workspace=workspace.pk).order_by("created_at", "id")
    assert list(rows.values_list("name", flat=True)) == [
        "Support",
        "Finance",
        "finance (2)",
        "FINANCE (3)",
        "Straße",
        "STRASSE (2)",
        "E\u0301quipe",
        "\u00c9quipe (2)",
    ]
    assert Team.objects.get(name="STRASSE (2)").folded == "strasse (2)"


def keep(table: Any, branch: Any, number: int, text: str, parent: uuid.UUID | None, **more: Any) -> Any:
    """One row of the first form."""
    fields = {
        "workspace_id": branch.workspace_id,
        "run_id": branch.run_id,
        "branch_id": branch.pk,
        "number": number,
        "parent_id": parent,
        "state_hash": read_state(text).state_hash,
        "raw_length": len(text.encode()),
        "body": body(text),
        "node": "refund",
    }
    return table.objects.create(**{**fields, **more})


def keep_states(main: Any, copy: Any, first_form: Any) -> Callable[[], None]:
    """States in the form in which they were kept whole; what comes back looks whether they are all still there."""
    texts = [
        '{"doc":"' + "é" * 400 + '","log":[' + ",".join(f'"{n} {"x" * 99}"' for n in range(step)) + "]}"
        for step in range(80)
    ]
    rows, parent = [], None
    for number, text in enumerate(texts, 1):
        rows.append(keep(first_form, main, number, text, parent))
        parent = rows[-1].pk
    Branch.objects.filter(pk=main.pk).update(head=parent)
    forked = keep(first_form, copy, 1, texts[39], rows[39].pk)
    exact = keep(first_form, copy, 2, '{"a":1E2,"big":9007199254740993}', forked.pk)
    broken = keep(first_form, copy, 3, '{"a":1}', exact.pk, body=b"\x01damaged")
    after = keep(first_form, copy, 4, '{"b":[1]}', broken.pk)
    Branch.objects.filter(pk=copy.pk).update(head=after.pk, fork_of=rows[39].pk)

    def are_carried_over() -> None:
        branch, fork = (Branch.objects.get(pk=one.pk) for one in (main, copy))
        assert [read(row) for row in rows] == texts
        assert read(forked) == texts[39]
        assert (read(exact), read(after)) == ('{"a":1E2,"big":9007199254740993}', '{"b":[1]}')
        with pytest.raises(CorruptCheckpoint):
            read(broken)
        bases = Checkpoint.objects.filter(branch=branch).order_by("number").values_list("base", flat=True)
        assert list(bases) == [1] * 64 + [65] * 16
        kept = sum(len(bytes(data)) for data in Blob.objects.values_list("data", flat=True))
        assert kept < sum(map(len, texts)) / 20
        assert [row.number for row in history(branch=fork).rows[:5]] == [4, 3, 2, 1, 40]
        assert put(branch, '{"next":1}').number == 81
        assert "body" not in {field.name for field in now.get_model("checkpoints", "Checkpoint")._meta.fields}

    return are_carried_over
