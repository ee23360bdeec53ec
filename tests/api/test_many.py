"""B60: no list of the API asks the database more often because there is more in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviewhub.core.clock import now
from reviewhub.reviews.models import ReviewRequest
from tests.api.access import ACCESS, PUBLIC
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call
from tests.shared import shared
from tests.web.test_many import FEW, MANY, more

NO_LISTS = {
    "events/export",
    "policy/draft",
    "policy/draft/backtest",
    "retention/dry-run",
    "retention/person-data",
}
PATHS = [name.removeprefix("GET ") for name in ACCESS if name.startswith("GET ") and name not in PUBLIC]
LISTS = {path for path in PATHS if "<" not in path} - NO_LISTS | {
    "requests?state=any",
    "standing-approvals?state=all",
}


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def asked(agent: AgentHttp, reviewer: PersonHttp, numbers: range) -> None:
    """For each number a run of the agent with a call that was decided, and one that people ask it about."""
    for _ in numbers:
        first, second = agent.pause(agent.run()["id"], call(), call("refund", "call_2")).ok(201)["tool_calls"]
        for one in (first, second):
            reviewer.post(f"/requests/{one['request']['id']}/comment", {"text": "Hm."}).ok()
            reviewer.post(f"/requests/{one['request']['id']}/ask", {"text": "Why?"}).ok()
        reviewer.decide(first, "approve").ok()
    rows = ReviewRequest.objects.filter(state="pending")
    rows.update(claimed_by=reviewer.member.pk, claimed_until=now() + timedelta(hours=1))


def counted(askers: dict[str, Callable[[str], Reply]]) -> dict[tuple[str, str], int]:
    """How many queries each list takes that each of these may read."""
    found = {}
    for who, get in askers.items():
        for path in sorted(LISTS):
            with CaptureQueriesContext(connection) as queries:
                status = get(f"/{path}").status
            if status == 200:
                found[who, path] = len(queries)
    return found


@pytest.mark.django_db
def test_b60_a_list_with_more_rows_takes_no_more_queries(
    cast: Cast, agent: AgentHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow this is: of an event that is late for its seal it is asked what it waits for.
    monkeypatch.setattr("reviewhub.audit.lag.LATE", 86_400)
    bob, alice, carol = (PersonHttp(one) for one in (cast.bob, cast.alice, cast.carol))
    askers: dict[str, Any] = {"agent": agent.get, "bob": bob.get, "alice": alice.get, "carol": carol.get}
    more(cast, range(FEW))
    asked(agent, bob, range(FEW))
    counted(askers)  # What is read once per process.
    few = counted(askers)
    assert {path for _, path in few} == LISTS
    more(cast, range(FEW, MANY))
    asked(agent, bob, range(FEW, MANY))
    assert {one: many for one, many in counted(askers).items() if many > few[one]} == {}
