"""Reading runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from reviewhub.accounts.models import AgentKey
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.core.ids import uuid7
from reviewhub.runs import queries
from reviewhub.runs.models import Run
from reviewhub.runs.queries import Filters
from tests.cast import Cast, make_test_agent
from tests.runs.conftest import begin


def test_runs_and_branches_of_another_agent_or_environment_are_not_there(
    cast: Cast, key: AgentKey, run: Run
) -> None:
    _, stranger, _ = make_test_agent(cast.support, name="Another agent")
    staging = AgentKey(workspace=key.workspace, agent=key.agent, environment="staging")
    assert queries.run_for_key(key, run.id) == run
    branch = run.branches.get()
    assert queries.branch_for_key(key, branch.id) == branch
    for read, thing in ((queries.run_for_key, run.id), (queries.branch_for_key, branch.id)):
        for other in (stranger, staging):
            with pytest.raises(NotFound):
                read(other, thing)
        with pytest.raises(NotFound):
            read(key, uuid7())


def test_a_branch_is_found_by_name_or_id_inside_its_run_only(key: AgentKey, run: Run) -> None:
    branch = run.branches.get()
    other = begin(key).branches.get()
    assert queries.branch_of(run, "main") == branch
    assert queries.branch_of(run, str(branch.id)) == branch
    for wrong in ("Main", str(other.id), ""):
        with pytest.raises(NotFound):
            queries.branch_of(run, wrong)


def test_a_branch_that_was_found_knows_its_run(
    key: AgentKey, run: Run, django_assert_num_queries: Any
) -> None:
    found = queries.run_for_key(key, run.id)
    with django_assert_num_queries(1):
        assert queries.branch_of(found, "main").run.agent == key.agent


def test_pages_hold_every_run_once_the_newest_first(key: AgentKey) -> None:
    made = [begin(key, title=f"run {number}") for number in range(7)]
    moment = made[0].created_at
    # Equal times are told by id.
    Run.objects.filter(pk__in=[run.pk for run in made[:5]]).update(created_at=moment)
    seen, cursor = [], ""
    while True:
        page = queries.listed(Run.objects.all(), filters=Filters(), cursor=cursor, limit=2)
        seen += [run.title for run in page.rows]
        cursor = page.next
        if not cursor:
            break
    assert seen == [f"run {number}" for number in reversed(range(7))]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL scans tables as small as these")
@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (lambda: queries.by_external_id(uuid7(), "a"), "run_external_id_once"),
        (lambda: Run.objects.filter(workspace_id=uuid7()).order_by("-created_at", "-id"), "run_newest"),
        (
            lambda: Run.objects.filter(workspace_id=uuid7(), state="paused").order_by("-created_at", "-id"),
            "run_state_newest",
        ),
    ],
)
def test_lists_and_look_ups_use_their_index(db: None, rows: Callable[[], QuerySet[Run]], index: str) -> None:
    plan = rows().explain()
    assert index in plan
    assert "TEMP B-TREE" not in plan


def test_a_list_does_not_read_what_runs_began_and_ended_with(run: Run) -> None:
    (row,) = queries.listed(Run.objects.all(), filters=Filters()).rows
    assert row.get_deferred_fields() == {"input", "result"}


def test_filters_narrow(key: AgentKey) -> None:
    begin(key, title="Refund 1", external_id="a")
    begin(key, title="Booking 2", external_id="b")

    def titles(**wanted: object) -> list[str]:
        return [run.title for run in queries.listed(Run.objects.all(), filters=Filters(**wanted)).rows]

    assert titles(text="refund") == ["Refund 1"]
    assert titles(text="b") == ["Booking 2"]
    assert titles(state="paused") == []
    assert titles(environment="production", agent=key.agent_id) == ["Booking 2", "Refund 1"]
    assert titles(agent=uuid7()) == []


@pytest.mark.django_db
@pytest.mark.parametrize("cursor", ["x", "W10", "bnVsbA", "WyJhIiwiYiJd", "WzEsMl0", "é"])
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid):
        queries.listed(Run.objects.all(), filters=Filters(), cursor=cursor)
