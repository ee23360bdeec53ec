"""What takes time of a call's arguments is done before anything is locked; inside, only that nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from reviewhub_agents import canonical

from reviewhub.core.display import masking
from reviewhub.policies import facts
from reviewhub.reviews import edit as edits
from reviewhub.toolcalls.models import CallVersion, ToolCall
from reviewhub.tools import shown
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db
SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "number", "maximum": 100}, "to": {"type": "string"}, "marker": {}},
}
GIVEN = {"amount": 5, "to": "anna", "marker": 1}


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    found = agent_of(cast.support)
    found.put("/tools/refund", {"effect": "once", "schema": SCHEMA}).ok()
    policy(cast.support, {"name": "Asks", "tool": "refund", "action": "require", "locked_fields": ["to"]})
    return found


def held(agent: AgentHttp) -> dict[str, Any]:
    (found,) = agent.pause(agent.run()["id"], call("refund", arguments=GIVEN)).ok(201)["tool_calls"]
    return dict(found)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[tuple[str, int]]]:
    """What was read, checked or masked of the arguments from now on, with how deep in transactions."""
    found: list[tuple[str, int]] = []

    def noted(name: str, does: Any) -> Any:
        def noting(given: Any, *more: Any, **named: Any) -> Any:
            if "marker" in (given if isinstance(given, str) else str(more) + str(given)):
                found.append((name, len(connection.savepoint_ids) - outside))
            return does(given, *more, **named)

        return noting

    for place, name in ((facts, "validate_tree"), (canonical, "reread"), (canonical, "parse"),
                        (masking, "masked_tree"), (shown, "masked_tree")):  # fmt: skip
        monkeypatch.setattr(place, name, noted(name, getattr(place, name)))
    outside = len(connection.savepoint_ids)
    return lambda: found


def edit(amount: int) -> dict[str, Any]:
    return {"changes": [{"op": "set", "path": "/amount", "value": amount}]}


@pytest.mark.parametrize(
    ("verdict", "more", "checks"),
    [
        ("edit", edit(7), 1),
        ("approve", {}, 0),
        ("approve", {"remember": {"uses": 1}}, 1),
        ("reject", {"message": "no"}, 0),
    ],
)
def test_an_answer_reads_checks_and_masks_before_it_locks(
    agent: AgentHttp, cast: Cast, verdict: str, more: Any, checks: int, work: Any
) -> None:
    one = held(agent)
    work().clear()
    PersonHttp(cast.bob).decide(one, verdict, **more).ok()
    found = work()
    assert [name for name, _ in found].count("validate_tree") == checks
    assert {name for name, depth in found if depth > 0} == set()


def test_an_edit_is_prepared_again_when_the_tool_changed_meanwhile(
    agent: AgentHttp, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, prepare, times = held(agent), edits.prepare, []

    def slowly(**given: Any) -> edits.Edit:
        made = prepare(**given)
        if not times:
            narrower = {**SCHEMA, "properties": {**SCHEMA["properties"], "amount": {"maximum": 6}}}
            agent.put("/tools/refund", {"effect": "once", "schema": narrower}).ok()
        times.append(made.digest)
        return made

    monkeypatch.setattr(edits, "prepare", slowly)
    bob = PersonHttp(cast.bob)
    refused = bob.decide(one, "edit", **edit(7))
    assert (refused.status, len(times)) == (422, 1), "the second time it breaks the schema that holds now"
    assert CallVersion.objects.count() == 1 and ToolCall.objects.get().version == 1
    assert bob.decide(one, "edit", **edit(6)).status == 200
