"""The examples of `docs/agents.md` run as they stand, against the real server; bob decides while they wait."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from reviewhub_agents import exchange

from reviewhub.reviews.models import ReviewRequest
from reviewhub.tools.models import Tool
from tests.agents import server
from tests.cast import Cast, make_test_agent
from tests.driver import AgentHttp, PersonHttp, call

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "agents.md").read_text()
REJECT = {"type": "reject", "message": "Not this one."}
EDIT = {"type": "edit", "changes": [{"op": "set", "path": "/amount", "value": "12.40"}]}
APPROVE = {"type": "approve"}
HAPPENED = {"type": "happened", "value": {"refunded": True}}

# By heading: what bob decides, one after the other, and what the example has for a result then.
EXAMPLES: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "Say what your tools are": ([], None),
    "The decorator": ([EDIT], "refunded 12.40 to order 8812"),
    "No is an answer": ([{"type": "respond", "value": "a voucher"}], "instead of the refund: a voucher"),
    "Waiting": ([], "nobody answered in time"),
    "When a reviewer asks": ([], ["You asked: Why so much? The customer sent a photo."]),
    "Several calls, one run": ([APPROVE, APPROVE], ["refunded 8812", "refunded 8813"]),
    "Halted, and going on": ([REJECT], ["user", "assistant", "tool"]),
    "Async": ([APPROVE, APPROVE], ["refunded 8812", "refunded 8813"]),
    "By hand: two calls in one pause, one of them edited": (
        [APPROVE, EDIT],
        ["refunded 1240.00 to 8812", "refunded 12.40 to 8813 (edited)"],
    ),
    "A plan, for people to see": ([], ["look: done", "claim: pending", "refund: pending"]),
    "A state with a version": (
        [],
        ["12.50", "EUR", "name='refund' version=1", "name='refund' version=2"],
    ),
    "When nobody knows how it ended": ([APPROVE, HAPPENED], "a person found out that it happened"),
}


def examples() -> dict[str, str]:
    """The Python of each section, by its heading."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    found = {name: re.findall(r"```python\n(.*?)```", text, re.DOTALL) for name, text in sections.items()}
    return {name: code for name, (code,) in found.items()}


@pytest.fixture
def decide(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What bob will decide, to be filled in; the clients talk to the server of this test."""
    decisions: list[dict[str, Any]] = []
    bob = PersonHttp(cast.bob)

    def before(request: httpx.Request) -> None:
        if request.method != "GET" or "/pauses/" not in request.url.path:
            return
        for row in ReviewRequest.objects.filter(state="pending").order_by("number")[: len(decisions)]:
            body = {"version": row.version, "digest": row.digest, **decisions.pop(0)}
            bob.post(f"/requests/{row.pk}/decide", body).ok()

    _, _, key = make_test_agent(cast.support)
    monkeypatch.setenv("REVIEWHUB_URL", server.URL)
    monkeypatch.setenv("REVIEWHUB_KEY", key)
    monkeypatch.setattr(exchange, "FIRST_DELAY", 0.01)
    transport = server.transport(before)
    for name in ("Client", "AsyncClient"):
        real = getattr(httpx, name)
        monkeypatch.setattr(
            httpx, name, lambda real=real, **options: real(**{**options, "transport": transport})
        )
    yield decisions


def test_every_section_has_an_example_that_is_run() -> None:
    assert set(examples()) == set(EXAMPLES)


def ask(bob: PersonHttp) -> None:
    """A call of the example's agent waits, and bob asks about it."""
    agent = AgentHttp(token=os.environ["REVIEWHUB_KEY"])
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    bob.post(f"/requests/{waiting['request']['id']}/ask", {"text": "Why so much?"}).ok(201)


@pytest.mark.parametrize("heading", EXAMPLES)
def test_the_example_runs(heading: str, decide: list[dict[str, Any]], cast: Cast) -> None:
    decisions, result = EXAMPLES[heading]
    if heading == "When a reviewer asks":
        ask(PersonHttp(cast.bob))
    decide += decisions
    names: dict[str, Any] = {}
    # As a reader's file: without this one's `from __future__`.
    code = compile(examples()[heading], f"agents.md, {heading}", "exec", dont_inherit=True)
    exec(code, names)  # noqa: S102  # our own page
    assert names.get("result") == result
    assert decide == []


def test_a_rejection_is_the_text_for_the_model(decide: list[dict[str, Any]]) -> None:
    decide.append(REJECT)
    names: dict[str, Any] = {}
    exec(compile(examples()["No is an answer"], "agents.md", "exec"), names)  # noqa: S102  # our own page
    assert "Bob rejected the call of payments.refund_order" in names["result"]


def test_the_tool_is_registered(decide: list[dict[str, Any]]) -> None:
    exec(compile(examples()["Say what your tools are"], "agents.md", "exec"), {})  # noqa: S102  # our own page
    assert Tool.objects.get().is_registered
