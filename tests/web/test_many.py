"""No page asks the database more often because there is more to show."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reviewhub.accounts.kinds import TeamMade
from reviewhub.accounts.models import Member, Role
from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from tests.cast import Cast, make_test_agent, member
from tests.web.make import drawn, standing_approval, waiting

As = Callable[[Member], Client]
FEW = 3
MANY = 30
PAGES = (
    "start",
    "queue",
    "queue?state=any",
    "queue?agent=agent+1&team=Support",
    "runs",
    "post-review",
    "audit",
    "insights",
    "policy",
    "standing-approvals",
    "tools",
    "agents",
    "retention",
    "stand-ins",
    "people",
    "search?q=tool",
)


def more(cast: Cast, numbers: range) -> None:
    """One more of everything that a list holds, for each number."""
    for number in numbers:
        row = waiting(cast.support, agent=f"agent {number}", tool=f"tool_{number}")
        make_test_agent(cast.support, name=f"With a key {number}")
        standing_approval(row, cast.bob)
        drawn(waiting(cast.support, agent=f"agent {number}").tool_call)
        member(f"member{number}", workspace=cast.workspace, role=Role.REVIEWER, teams=(cast.support,))
        record(
            "team.made",
            workspace_id=cast.workspace.pk,
            actor=SYSTEM,
            data=TeamMade(name=cast.support.name),
        )


def counted(client: Client) -> dict[str, int]:
    """How many queries each page takes."""
    found = {}
    for path in PAGES:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(f"/northwind/{path}").status_code == 200, path
        found[path] = len(queries)
    return found


@pytest.mark.django_db
def test_a_page_with_more_rows_takes_no_more_queries(
    cast: Cast, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow this is: of an event that is late for its seal it is asked what it waits for.
    monkeypatch.setattr("reviewhub.audit.lag.LATE", 86_400)
    client = as_(cast.alice)
    more(cast, range(FEW))
    counted(client)  # What is read once per process.
    few = counted(client)
    more(cast, range(FEW, MANY))
    # Fewer where a page is full before its second query.
    assert {path: many for path, many in counted(client).items() if many > few[path]} == {}
