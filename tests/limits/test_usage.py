"""What pages say of the use of limits is what calls are weighed against."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from pytest_django import DjangoAssertNumQueries

from reviewhub.accounts.permissions import scope_of
from reviewhub.limits.models import Reservation
from reviewhub.limits.usage import Use, usage
from reviewhub.policies.limit import Limit
from reviewhub.policies.publish import publish
from tests.cast import ALICE, Cast, caller
from tests.driver import AgentHttp, PersonHttp, agent_of, call

MONEY = {"name": "Money", "tool": "refund", "window_seconds": 3600, "sum_of": "amount", "most": 500}
ALL = {"name": "All", "tool": "refund", "window_seconds": 60, "most": 4, "per": "all", "then": "deny"}
RUNS = {"name": "Refunds run", "tool": "refund", "action": "allow"}
TWO = [Limit(**MONEY), Limit(**ALL)]


def refunds(agent: AgentHttp, *amounts: Any) -> list[Any]:
    calls = [call(call_id=f"c{at}", arguments={"amount": amount}) for at, amount in enumerate(amounts)]
    return list(agent.pause(agent.run()["id"], *calls).ok(201)["tool_calls"])


def figures(use: Use) -> tuple[str, int, str, int, int]:
    return use.taken_said, use.calls, use.reserved_said, use.reserved_calls, use.percent


@pytest.mark.django_db
def test_what_is_taken_and_what_is_reserved(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    one, other = agent_of(cast.support), agent_of(cast.finance, name="Books")
    for agent in (one, other):
        agent.put("/tools/refund", {"effect": "once"}).ok()
    text = json.dumps({"rules": [RUNS], "limits": [MONEY, ALL]})
    publish(workspace=cast.workspace, rules_text=text, note="why", base=0, actor=ALICE)
    first, second = refunds(one, 300, "99.50")
    refunds(other, 1)
    (held,) = refunds(one, 101)
    assert held["state"] == "waiting"
    one.consume(first).ok()
    sees_all = scope_of(caller(cast.alice))
    with django_assert_num_queries(2):  # the clock of the database is one
        found = usage(sees_all, TWO)
    mine, books = found.by_limit(TWO[0])
    assert (mine.agent, books.agent) == ("Support agent", "Books")
    assert figures(mine) == ("399.5", 2, "99.5", 1, 79)
    assert figures(books) == ("1", 1, "1", 1, 0)
    (all_,) = found.by_limit(TWO[1])
    assert figures(all_) == ("4", 4, "3", 3, 100), "what a limit holds takes its part of another one"
    assert found.of(TWO[1], held_by(held)) == all_ and found.of(TWO[0], held_by(held)) == mine
    PersonHttp(cast.bob).decide(held, "reject", message="Not this one.").ok()
    one.post(f"/tool-calls/{second['id']}/withdraw", {}).ok()
    assert figures(usage(sees_all, TWO).by_limit(TWO[0])[0]) == ("300", 1, "0", 0, 60)
    Reservation.objects.update(at=F("at") - timedelta(seconds=61))
    again = usage(sees_all, TWO)
    assert again.by_limit(TWO[1]) == [] and again.of(TWO[1], held_by(held)).taken == 0
    assert [use.agent for use in again.by_limit(TWO[0])] == ["Support agent", "Books"]
    seen_by_bob = usage(scope_of(caller(cast.bob)), TWO)
    assert [use.agent for use in seen_by_bob.by_limit(TWO[0])] == ["Support agent"], "an agent of his team"
    assert usage(scope_of(caller(cast.mallory)), TWO).rows == {}


def held_by(one: Any) -> Any:
    from reviewhub.toolcalls.models import ToolCall

    return ToolCall.objects.get(pk=one["id"]).agent_id


@pytest.mark.django_db
def test_a_limit_of_nothing_is_full_once_anything_is_taken(cast: Cast) -> None:
    nothing = Limit(name="None", tool="*", window_seconds=60, most=0)
    assert (Use(limit=nothing).percent, Use(limit=nothing, taken=1).percent) == (0, 100)
