"""Pause, decide, consume, outcome: what a gated call costs in the store, for `engine.py`. No HTTP and no worker."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable
from typing import Any

VERBS = ("pause", "decide", "consume", "outcome")


def cycle_of(cast: Any) -> Callable[[], dict[str, float]]:
    """One cycle, as a function that gives the seconds of each verb; the start of its run is not in it."""
    from reviewhub_agents import canonical, wire

    from reviewhub.core.actors import Actor
    from reviewhub.gates.consume import consume
    from reviewhub.gates.outcome import outcome
    from reviewhub.gates.pause import pause
    from reviewhub.reviews.decide import decide
    from reviewhub.reviews.models import ReviewRequest
    from reviewhub.runs.start import start
    from tests.cast import by_key, make_test_agent

    agent, key, _ = make_test_agent(cast.support, name="Cycles")
    program = by_key(key)
    person = Actor(kind="person", id=cast.bob.pk, name=cast.bob.person.name, source="api")

    def paused(run: Any, tree: Any) -> Any:
        body = wire.PauseBody.from_text(canonical.dumps(tree))
        digest = canonical.body_digest(body.to_tree())
        return pause(
            run=run, agent=agent, body=body, body_digest=digest, key=secrets.token_hex(8), actor=program
        )

    def decided(row: Any) -> None:
        tree = {"type": "approve", "version": row.version, "digest": row.digest}
        body = wire.DecideBody.from_text(canonical.dumps(tree))
        digest = canonical.body_digest(tree)
        decide(
            request_id=row.pk,
            member=cast.bob,
            body=body,
            body_digest=digest,
            key=secrets.token_hex(8),
            actor=person,
        )

    def cycle() -> dict[str, float]:
        run, _ = start(key=key, body=wire.RunStart.from_text("{}"), actor=program)
        call = {
            "tool": "bench.transfer",
            "arguments": {"cycle": uuid.uuid4().hex, "amount": "10.00", "to": "acct", "note": "x" * 500},
        }
        clock = Clock()
        made = paused(run, {"checkpoint": {"state": {"n": 1}}, "tool_calls": [call]})
        clock.lap("pause")
        row = ReviewRequest.objects.get(run=run)
        clock.skip()
        decided(row)
        clock.lap("decide")
        asked = made.pause.tool_calls.get()
        clock.skip()
        consume(
            call_id=asked.pk,
            digest=asked.digest,
            key=secrets.token_hex(16),
            facts=None,
            epoch=None,
            actor=program,
        )
        clock.lap("consume")
        body = wire.OutcomeBody.from_text('{"status":"succeeded","result":"done"}')
        outcome(call_id=asked.pk, body=body, actor=program)
        clock.lap("outcome")
        return clock.laps

    return cycle


class Clock:
    """Seconds from one lap to the next, without what is skipped."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.skip()

    def skip(self) -> None:
        """What was since the last lap does not count."""
        self._at = time.perf_counter()

    def lap(self, name: str) -> None:
        """The time since the last one."""
        self.laps[name] = time.perf_counter() - self._at
        self.skip()


def bare(count: int) -> list[float]:
    """Seconds of each of so many transactions that insert one row of 700 bytes, through the product's own cursor."""
    from django.db import connection, transaction

    content = secrets.token_hex(350)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_bare (id bigint PRIMARY KEY, content text)")
    found = []
    for at in range(count):
        began = time.perf_counter()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("INSERT INTO bench_bare VALUES (%s, %s)", [at, content])
        found.append(time.perf_counter() - began)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE bench_bare")
    return found
