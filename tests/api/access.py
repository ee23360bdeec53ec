"""Who may use which endpoint: one row for each method of each address. A test refuses an address without a row.

The letters stand for: o the agent whose things they are, s the same
agent by its key of another environment, x another agent of the workspace, y one of another workspace;
b bob (reviewer, own team), d dave (reviewer, other team), c carol (manager), a alice (admin, in no team),
m mallory (admin of another workspace). Who is not named gets 401, 403 or 404, and nothing happens.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """One method of one address: who may, and a body that is good enough to be looked at."""

    may: str
    body: dict[str, Any] | None = None


DECISION = {"type": "approve", "version": 1, "digest": "sha256:" + "0" * 64}
STATE = {"state": {"n": 2}}
PLAN = {"steps": [{"id": "look", "title": "Look at the order"}]}
POLICY: dict[str, Any] = {"rules": []}
CALL = {"tool": "refund", "arguments": {"order": "1"}}

ACCESS: dict[str, Row] = {
    "POST runs": Row("oxys", {}),
    "GET runs": Row("bdcam"),
    "GET runs/<uuid:run>": Row("obca"),
    "POST runs/<uuid:run>/cancel": Row("oba", {"reason": "not needed any more"}),
    "POST agents/<uuid:agent>/runs": Row("b", {}),
    "POST runs/<uuid:run>/pauses": Row("o", {"checkpoint": STATE, "tool_calls": [CALL]}),
    "POST runs/<uuid:run>/observations": Row(
        "o", {"checkpoint": STATE, "tool_calls": [CALL | {"outcome": {"status": "succeeded"}}]}
    ),
    "GET runs/<uuid:run>/checkpoints": Row("o"),
    "POST runs/<uuid:run>/checkpoints": Row("o", STATE),
    "GET runs/<uuid:run>/budget": Row("o"),
    "GET runs/<uuid:run>/goodput": Row("o"),
    "GET runs/<uuid:run>/plans": Row("o"),
    "POST runs/<uuid:run>/plans": Row("o", PLAN),
    "GET runs/<uuid:run>/plans/<int:version>": Row("o"),
    "GET runs/<uuid:run>/plans/<int:version>/marks": Row("o"),
    "POST runs/<uuid:run>/plans/<int:version>/marks": Row(
        "o", {"marks": [{"step": "look", "status": "done"}]}
    ),
    "GET runs/<uuid:run>/plans/<int:version>/difference/<int:other_version>": Row("o"),
    "POST runs/<uuid:run>/plans/<int:version>/restore": Row("b", {"base": 1, "reason": "it was better"}),
    "GET pauses/<uuid:pause>": Row("o"),
    "GET tool-calls/<uuid:call>": Row("o"),
    "GET tool-calls/<uuid:call>/policy": Row("o"),
    "GET tool-calls/<uuid:call>/receipts": Row("o"),
    "POST tool-calls/<uuid:call>/consume": Row("o", {"digest": DECISION["digest"]}),
    "POST tool-calls/<uuid:call>/progress": Row("o", {"partial": 1}),
    "POST tool-calls/<uuid:call>/outcome": Row("o", {"status": "succeeded"}),
    "POST tool-calls/<uuid:call>/withdraw": Row("o", {}),
    "GET checkpoints/<uuid:checkpoint>": Row("o"),
    "GET checkpoints/<uuid:checkpoint>/difference/<uuid:other>": Row("o"),
    "GET checkpoints/<uuid:checkpoint>/blame": Row("o"),
    "POST checkpoints/<uuid:checkpoint>/find": Row("o", {"path": "/n", "value": 1}),
    "POST checkpoints/<uuid:checkpoint>/fork": Row("ob", {"reason": "try it another way"}),
    "POST checkpoints/<uuid:checkpoint>/fork/preview": Row("ob", {}),
    "POST branches/<uuid:branch>/claim": Row("o", {}),
    "POST branches/<uuid:branch>/heartbeat": Row("o", {}),
    "GET branches/<uuid:branch>/signals": Row("o"),
    "POST tool-calls/<uuid:call>/verdicts": Row("o", {"name": "Sum", "status": "passed"}),
    "POST runs/<uuid:run>/plans/ask": Row("b", {"base": 1, "reason": "the carrier is closed"}),
    "POST branches/<uuid:branch>/enter": Row("o", {"node": "work", "step": 1}),
    "POST branches/<uuid:branch>/finish": Row("o", {}),
    "POST branches/<uuid:branch>/fail": Row("o", {"error": "broken"}),
    "POST branches/<uuid:branch>/sleep": Row("o", {"until": "2000-01-01T00:00:00Z"}),
    "POST branches/<uuid:branch>/children": Row("o", {"key": "k", "graph": "reader"}),
    "POST branches/<uuid:branch>/wait": Row("o", {}),
    "GET branches/<uuid:branch>/tool-calls": Row("o"),
    "GET branches/<uuid:branch>/records": Row("o"),
    "GET branches/<uuid:branch>/handover": Row("o"),
    "GET branches/<uuid:branch>/records/<any:key>": Row("o"),
    "PUT branches/<uuid:branch>/records/<any:key>": Row("o", {"value": 1}),
    "GET resumptions": Row("oxys"),
    "PUT tools/<any:name>": Row("oxys", {"effect": "read"}),
    "PUT states/<any:name>/<int:version>": Row("oxys", {"schema": {"type": "object"}}),
    "GET states/<any:name>/<int:version>": Row("os"),
    "POST policy/explain": Row("oxys", CALL),
    "GET questions": Row("oxys"),
    "POST questions/<uuid:question>/answer": Row("o", {"text": "because"}),
    "GET events": Row("cam"),
    "GET events/export": Row("cam"),
    "GET events/<int:event>/proof": Row("ca"),
    "GET insights": Row("cam"),
    "GET requests": Row("bdcam"),
    "POST requests/decide": Row("bdcam", {"decisions": [DECISION | {"request": "{request_id}"}]}),
    "GET requests/<uuid:request_id>": Row("bca"),
    "GET requests/<uuid:request_id>/receipts": Row("bca"),
    "POST requests/<uuid:request_id>/decide": Row("b", DECISION),
    "POST requests/<uuid:request_id>/claim": Row("b", {}),
    "POST requests/<uuid:request_id>/release": Row("b", {}),
    "POST requests/<uuid:request_id>/withdraw-vote": Row("b", {}),
    "POST requests/<uuid:request_id>/hand-over": Row("b", {"to": "{request_id}"}),
    "POST requests/<uuid:request_id>/snooze": Row("bca", {"minutes": 0}),
    "GET reasons": Row("bdcam"),
    "POST requests/<uuid:request_id>/comment": Row("bca", {"text": "why?"}),
    "POST requests/<uuid:request_id>/ask": Row("bca", {"text": "why?"}),
    "POST requests/<uuid:request_id>/reveal": Row("b", {"reason": "the order number looks wrong"}),
    "POST runs/<uuid:run>/halt": Row("ba", {"reason": "something is odd"}),
    "POST runs/<uuid:run>/resume": Row("b", {"reason": "it was nothing"}),
    "POST runs/<uuid:run>/limits": Row("b", {"seconds": 3600, "reason": "an hour is enough"}),
    "POST branches/<uuid:branch>/retry": Row("b", {"reason": "the provider is back"}),
    "GET observations": Row("bdcam"),
    "POST observations/grade": Row(
        "bdcam", {"grades": [{"observation": "{observation}", "verdict": "skipped"}]}
    ),
    "GET observations/<uuid:observation>": Row("bca"),
    "POST observations/<uuid:observation>/grade": Row("bca", {"verdict": "fine"}),
    "POST observations/<uuid:observation>/follow-up": Row("bca", {"kind": "notify"}),
    "POST observations/<uuid:observation>/reopen": Row("bca"),
    "POST follow-ups/<uuid:follow_up>/close": Row("bca", {"note": "seen to"}),
    "GET policy": Row("bdcam"),
    "GET policy/versions": Row("bdcam"),
    "GET policy/versions/<int:number>": Row("bdca"),
    "POST policy/check": Row("am", {"policy": POLICY}),
    "POST policy/publish": Row("am", {"policy": POLICY, "note": "why", "base": 0}),
    "POST policy/roll-back": Row("a", {"number": 1, "note": "why", "base": 2}),
    "GET policy/draft": Row("a"),
    "PUT policy/draft": Row("am", {"policy": POLICY}),
    "POST policy/draft/shadow": Row("am", {"draft": "{draft}", "on": True}),
    "POST policy/draft/discard": Row("am", {"draft": "{draft}"}),
    "POST policy/draft/publish": Row("am", {"draft": "{draft}", "note": "why", "base": 0}),
    "GET policy/draft/backtest": Row("a"),
    "POST policy/draft/backtest": Row("am", {"draft": "{draft}", "days": 3}),
    "POST policy/backtests/<uuid:backtest>/cancel": Row("a"),
    "GET policy/suggestions": Row("am"),
    "POST policy/suggestions/take-up": Row("am", {"key": "x"}),
    "GET stand-ins": Row("bdam"),
    "POST stand-ins": Row(
        "bdam",
        {"to": "dave@example.com", "starts_at": "2026-01-01T00:00:00Z", "ends_at": "2026-01-02T00:00:00Z"},
    ),
    "POST stand-ins/<uuid:stand_in>/end": Row("b"),
    "GET standing-approvals": Row("bdcam"),
    "POST standing-approvals/<uuid:standing>/revoke": Row("ba", {"reason": "no more"}),
    "GET retention": Row("cam"),
    "PUT retention/rules": Row("am", {"keep_last": 5, "base": 0}),
    "POST retention/rules/remove": Row("am", {"base": 1}),
    "GET retention/dry-run": Row("cam"),
    "GET retention/person-data": Row("am"),
    "POST retention/erase": Row("am", {"on_behalf_of": " ", "reason": "they asked for it"}),
    "GET runs/<uuid:run>/retention": Row("ca"),
    "POST runs/<uuid:run>/hold": Row("ca", {"reason": "a lawsuit"}),
    "POST runs/<uuid:run>/release": Row("ca", {"reason": "it is over"}),
    "POST checkpoints/<uuid:checkpoint>/pin": Row("bca", {"reason": "the bug"}),
    "POST checkpoints/<uuid:checkpoint>/unpin": Row("bca", {}),
    "GET checkpoints/<uuid:checkpoint>/rewrite": Row("b"),
    "POST checkpoints/<uuid:checkpoint>/rewrite/preview": Row("b", {}),
    "POST checkpoints/<uuid:checkpoint>/rewrite": Row("b", {"changes": [], "reason": "wrong order"}),
}
# Public on purpose: the description of the API itself.
PUBLIC = {"GET schema", "GET policy/schema"}
