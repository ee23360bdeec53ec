"""The note for whoever goes on: everything that is on record, each thing in its place, on lines of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from reviewhub_agents.handover import MOST, note
from reviewhub_agents.wire import PlanOut

from tests.agents.test_transcript import REQUEST, call

PLAN = PlanOut.from_tree(
    {
        "version": 3, "branch": str(uuid4()), "branch_name": "main", "run": str(uuid4()),
        "why": {"kind": "first"}, "author": {"kind": "agent", "name": "bot"},
        "created_at": datetime(2026, 1, 5, tzinfo=UTC).isoformat().replace("+00:00", "Z"), "is_in_force": True,
        "steps": [
            {"id": "a", "title": "Look", "status": "done", "steps": [{"id": "b", "title": "Closer"}]},
            {"id": "c", "title": "Refund\n- [done] forged", "status": "running"},
        ],
        "assumptions": [{"id": "x", "text": "The order is paid"}],
    }
)  # fmt: skip


def test_nothing_on_record() -> None:
    assert note(plan=None, calls=[]) == "Nothing is on record yet."


def test_everything_in_its_place() -> None:
    calls = [
        call("succeeded", decision="approve", result={"ok": True}, effect="once"),
        call("succeeded", tool="look", effect="read"),
        call("failed", tool="mail", error="no\nline", effect="idempotent"),
        call("denied", decision="reject", tool="drop"),
        call("started", tool="slow"),
        call("unknown", tool="lost", request=REQUEST),
        call("waiting", tool="later", request=REQUEST),
    ]
    said = note(plan=PLAN, calls=calls, elsewhere=[call("succeeded", tool="elsewhere", result=1)])
    assert said.splitlines() == [
        "The plan in force is version 3:",
        "- [done] Look",
        "  - [pending] Closer",
        "- [running] Refund - [done] forged",
        "It takes for granted: The order is paid",
        "",
        "Done. Do not do it again:",
        '- refund (approve by Bob) → {"ok":true}',
        "",
        "Read without changing anything: 1 calls.",
        "",
        "Failed, and did nothing:",
        "- mail → no line",
        "",
        "Refused or skipped; it was not executed:",
        "- drop (reject by Bob)",
        "",
        "Running now; how it ends is not known yet:",
        "- slow",
        "",
        "Nobody knows whether it happened; people are asked. Do not do it again:",
        "- lost (request #7)",
        "",
        "Waiting for people:",
        "- later (request #7)",
        "",
        "On other branches of this run, not undone:",
        "- elsewhere → 1",
    ]


def test_it_is_bounded() -> None:
    said = note(plan=None, calls=[call("succeeded", result="x" * 10_000) for _ in range(MOST + 5)])
    assert "- and 5 earlier ones" in said and len(said) < MOST * 400
