"""PostgreSQL with two roles: the application's does all that the product does, and cannot get past a guard."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from django.db import DatabaseError, connection, transaction

from reviewhub.audit import seal
from reviewhub.audit.checks import role_owns_nothing
from reviewhub.audit.erase import erase
from reviewhub.audit.models import Event, Position
from reviewhub.audit.roles import NoSuchRole, grant, owned
from reviewhub.retention.erase import _step
from reviewhub.runs.models import Run
from tests.audit.test_record import MINA
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no roles"),
]

SCRIPT: Final = Path(__file__).resolve().parents[2] / "docker" / "app-role.sh"


def sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def as_app(cast: Cast) -> Iterator[None]:
    """The rest of the test is done by the application's role; it ends with the transaction."""
    sql("CREATE ROLE rh_test_app")
    sql("GRANT TRUNCATE ON audit_event TO rh_test_app")
    grant("rh_test_app")
    sql("SET LOCAL ROLE rh_test_app")
    yield
    sql("RESET ROLE")


def test_the_whole_way_goes_as_the_application(cast: Cast, as_app: None, at_once: None) -> None:
    agent = agent_of(cast.support)
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    run = agent.run(on_behalf_of="ann")
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(waiting, "approve").ok()
    _use_up(agent, waiting["id"], run["id"])
    seal.seal_all()
    assert Position.objects.count() > 5
    one = Event.objects.earliest("id")
    assert erase(workspace_id=one.workspace_id, event_ids=[one.pk], actor=MINA, because="asked for") == 1
    while _step(Run.objects.get().pk, "asked for", ALICE):
        pass
    assert Run.objects.get().erased_at is not None
    assert owned() == [] and role_owns_nothing(databases=["default"]) == []


def _use_up(agent: AgentHttp, call_id: str, run: str) -> None:
    now = agent.get(f"/tool-calls/{call_id}").ok()
    agent.consume(now).ok()
    agent.outcome(now, result={"ok": True}).ok()
    branch = agent.get(f"/runs/{run}").ok()["branches"][0]["id"]
    agent.post(f"/branches/{branch}/finish", {}).ok()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_event SET xid = 1",
        "DELETE FROM audit_event",
        "TRUNCATE audit_event CASCADE",
        "TRUNCATE runs_run CASCADE",
        "DELETE FROM audit_eventpayload",
        "UPDATE audit_seal SET signature = ''",
        "ALTER TABLE audit_event DISABLE TRIGGER ALL",
        "DROP TABLE audit_event CASCADE",
        "ALTER TABLE audit_event ADD COLUMN more int",
        "SET session_replication_role = replica",
        "CREATE TRIGGER mine BEFORE INSERT ON audit_event FOR EACH ROW EXECUTE FUNCTION reviewhub_refuse()",
        "CREATE OR REPLACE FUNCTION reviewhub_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    ],
)
def test_it_does_not_get_past_a_guard(as_app: None, statement: str) -> None:
    with pytest.raises(DatabaseError) as refused, transaction.atomic():
        sql(statement)
    assert getattr(refused.value.__cause__, "sqlstate", "") == "42501"


@pytest.mark.parametrize("role", ["nobody_of_that_name", ""])
def test_a_role_that_is_none_is_refused(role: str) -> None:
    with pytest.raises(NoSuchRole):
        grant(role)


def test_the_owner_is_warned_of() -> None:
    assert [found.id for found in role_owns_nothing(databases=["default"])] == ["reviewhub.W002"]


@pytest.mark.skipif(shutil.which("psql") is None, reason="the script runs psql")
def test_the_script_of_the_compose_file_makes_a_role_that_owns_nothing() -> None:
    """As the image of PostgreSQL runs it: a file that may not be executed it would read into its own shell."""
    assert os.access(SCRIPT, os.X_OK)
    given, password = connection.settings_dict, "p'w $x\"; --"
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = 'reviewhub_app'")
        if cursor.fetchone():
            pytest.skip("this server has the role already")
    where = {"PGHOST": given["HOST"], "PGPORT": str(given["PORT"] or 5432), "PGPASSWORD": given["PASSWORD"]}
    variables = {"POSTGRES_USER": given["USER"], "POSTGRES_DB": given["NAME"], "APP_PASSWORD": password}
    try:
        subprocess.run([SCRIPT], check=True, env={**os.environ, **where, **variables}, capture_output=True)
        asked = ["psql", "-U", "reviewhub_app", "-d", given["NAME"], "-Atc", "CREATE TABLE mine (a int)"]
        refused = subprocess.run(
            asked, env={**os.environ, **where, "PGPASSWORD": password}, capture_output=True
        )
        assert b"permission denied for schema public" in refused.stderr
    finally:
        # By itself: what this test's transaction does is taken back at its end.
        dropping = [
            "psql",
            "-U",
            given["USER"],
            "-d",
            given["NAME"],
            "-qc",
            "DROP ROLE IF EXISTS reviewhub_app",
        ]
        subprocess.run(dropping, check=True, env={**os.environ, **where})
