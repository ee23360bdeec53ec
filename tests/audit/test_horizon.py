"""What the sealer and readers wait for: open transactions of this database, not of others; and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from reviewhub.accounts.models import Workspace
from reviewhub.audit import lag as lags
from reviewhub.audit.feed import feed
from reviewhub.audit.horizon import holder, horizon
from reviewhub.audit.lag import lag
from reviewhub.audit.models import Event
from reviewhub.audit.seal import seal_all
from tests.audit.test_record import WORKSPACE, write
from tests.audit.waiting import settle

postgresql_only = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has one writer at a time: nothing waits for another"
)


@contextmanager
def another(database: str | None = None, *, writes: bool = True) -> Iterator[Any]:
    """An open transaction of another connection, to this database or another one of the server."""
    import psycopg

    params = connection.get_connection_params()
    wanted = {name: params[name] for name in ("host", "port", "user", "password") if name in params}
    with psycopg.connect(
        **wanted, dbname=database or params["dbname"], application_name="<b>night job"
    ) as one:
        one.execute("SELECT pg_current_xact_id()" if writes else "SELECT 1")
        yield one
        one.rollback()


@contextmanager
def prepared(name: str, database: str | None = None) -> Iterator[None]:
    """A transaction that was prepared by a process that is gone, and that nobody has ended."""
    import psycopg

    with connection.cursor() as sql:
        sql.execute("SHOW max_prepared_transactions")
        if sql.fetchone() == ("0",):
            pytest.skip("this server lets none be prepared")
    with another(database) as one:
        one.execute(psycopg.sql.SQL("PREPARE TRANSACTION {}").format(name))
        where = one.info.dbname
    try:
        yield
    finally:
        params = connection.get_connection_params()
        wanted = {key: params[key] for key in ("host", "port", "user", "password") if key in params}
        with psycopg.connect(**wanted, dbname=where, autocommit=True) as one:
            one.execute(psycopg.sql.SQL("ROLLBACK PREPARED {}").format(name))


def sealed_and_read() -> tuple[int, int]:
    """How many events the sealer takes, and how many a reader gets."""
    with transaction.atomic():
        write()
    return seal_all(), len(feed(workspace_id=WORKSPACE).events)


@postgresql_only
@pytest.mark.django_db(transaction=True)
class TestWhatCounts:
    @pytest.mark.parametrize("role", ["", "rh_horizon_app"])
    def test_a_transaction_of_another_database_keeps_nobody_waiting(self, role: str) -> None:
        settle()
        with another("postgres"), connection.cursor() as sql:
            if not role:
                assert sealed_and_read() == (1, 1)
                return
            sql.execute(f"DROP ROLE IF EXISTS {role}")
            sql.execute(f"CREATE ROLE {role}")
            sql.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
            (oldest,) = sql.fetchone()
            sql.execute(f"SET ROLE {role}")
            try:
                assert (horizon() or 0) > oldest
            finally:
                sql.execute("RESET ROLE")
                sql.execute(f"DROP ROLE {role}")

    def test_one_of_this_database_does_and_one_that_only_reads_does_not(self) -> None:
        settle()
        with another(writes=False):
            assert sealed_and_read() == (1, 1)
        with another() as one:
            assert sealed_and_read() == (0, 1)
            number = Event.objects.latest("id").xid
            found = holder(number)
            assert found is not None and found.pid == one.info.backend_pid
            assert found.program == "<b>night job" and found.seconds is not None
            assert f"process {found.pid}" in str(found) and "<b>night job" in str(found)
        settle()
        assert seal_all() == 1
        assert holder(number) is None

    def test_one_that_was_prepared_does_until_somebody_ends_it(self) -> None:
        settle()
        with prepared("<b>left"):
            assert sealed_and_read() == (0, 0)
            found = holder(Event.objects.latest("id").xid)
            assert found is not None and found.pid is None and found.program == "<b>left"
            assert found.seconds is not None and found.role and "that nobody has ended" in str(found)
        settle()
        assert seal_all() == 1
        with prepared("elsewhere", "postgres"):
            assert sealed_and_read() == (1, 2), "of another database"

    def test_ones_own_transaction_counts(self) -> None:
        with transaction.atomic():
            write()
            assert feed(workspace_id=WORKSPACE).events == []


@pytest.mark.django_db(transaction=True)
class TestWhatIsSaid:
    @pytest.fixture(autouse=True)
    def late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Workspace.objects.create(pk=WORKSPACE, slug="w", name="W")
        monkeypatch.setattr(lags, "LATE", 0)

    def said(self) -> str:
        out = StringIO()
        call_command("audit", "verify", stdout=out)
        call_command("audit", "keys", stdout=out)
        return out.getvalue()

    @postgresql_only
    def test_verify_and_keys_say_since_when_and_for_what(self) -> None:
        settle()
        with another() as one:
            with transaction.atomic():
                write()
            seal_all()
            said = self.said()
            assert said.count("the oldest for 0 s. It waits for a transaction that is open for") == 2, said
            assert said.count(f"process {one.info.backend_pid} (role ") == 2
        settle()
        assert seal_all() == 1
        assert "the oldest" not in self.said()

    def test_without_a_sealer_that_is_said(self) -> None:
        with transaction.atomic():
            write()
        settle()
        assert "1 not sealed yet" in self.said(), "also before the first seal"
        assert self.said().count("the oldest for 0 s. Nothing stands in the way") == 2
        found = lag(WORKSPACE)
        assert found.held_by is None and "is a worker running" in found.why


@pytest.mark.django_db
def test_a_fresh_event_is_not_late() -> None:
    write()
    found = lag(WORKSPACE)
    assert (found.waiting, found.why) == (1, "") and found.words == "1 waits, the oldest for 0 s"
    assert replace(found, seconds=720.0).words.startswith("1 waits, the oldest for 12 m. Nothing stands")
