"""A worker goes through the calls of a backtest, for a few seconds at a time.

Each batch is one transaction that moves the cursor and the figures together, and only while the backtest is open and
still this worker's (`epoch`). So a worker that dies costs a batch, two that have it do not count a call twice, and one
that was cancelled stops.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic

from django.db import transaction
from django.db.models import F, Q, QuerySet

from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM
from reviewhub.core.clock import DbNow, now
from reviewhub.core.transitions import move
from reviewhub.insights.beside import Beside
from reviewhub.insights.kinds import BacktestEnded, BacktestFailed
from reviewhub.insights.models import Backtest, BacktestCall
from reviewhub.insights.recorded import Reader, Recorded
from reviewhub.insights.rules import Tally
from reviewhub.insights.states import BACKTEST_EDGES, BacktestState
from reviewhub.policies import rules
from reviewhub.policies.compare import UNDECIDED, asks, undecided_words
from reviewhub.policies.evaluate import InForce, answer_of, as_of, call_of
from reviewhub.policies.known_tools import registered
from reviewhub.policies.reading import parse_policy

log = logging.getLogger(__name__)
BATCH = 500
SLICE_SECONDS = 5.0
LEASE_SECONDS = 30
MOST_FAILURES = 5
MOST_LISTED = 50
"""So many calls are kept of each heading."""


def work_off(backtest_id: uuid.UUID) -> bool:
    """Goes on with a backtest until it ends or a few seconds are over; whether there is more to do.

    Nothing happens when it has ended or another worker has it.
    """
    backtest = _take(backtest_id)
    if backtest is None:
        return False
    try:
        return _slice(backtest)
    except Exception as error:
        log.exception("backtest %s failed", backtest_id)
        _failed(backtest, error)
        return False


def _take(backtest_id: uuid.UUID) -> Backtest | None:
    idle = Q(beat_at__isnull=True) | Q(beat_at__lt=now() - timedelta(seconds=LEASE_SECONDS))
    with transaction.atomic():
        taken = Backtest.objects.filter(idle, pk=backtest_id, state=BacktestState.OPEN).update(
            beat_at=DbNow(), epoch=F("epoch") + 1
        )
        return Backtest.objects.select_related("draft").get(pk=backtest_id) if taken else None


def _slice(backtest: Backtest) -> bool:
    published = as_of(backtest.workspace_id, backtest.number)
    draft = InForce(0, parse_policy(backtest.draft.rules), tools=registered(backtest.workspace_id))
    with_steps = any(one.policy is not None and one.policy.asks_for_plan_step for one in (published, draft))
    reader, tally = Reader(backtest.workspace_id, with_steps=with_steps), Tally.loads(backtest.figures)
    beside = Beside(backtest.workspace_id, tally)
    until = monotonic() + SLICE_SECONDS
    while monotonic() < until:
        batch = reader.batch(backtest, BATCH)
        if not batch:
            return _end(backtest, tally)
        found = [one for call in batch for one in _compare(call, published, draft, beside, tally)]
        if not _keep(backtest, batch, tally, found):
            return False
    # Released: whoever hears of it next goes on.
    return bool(_mine(backtest).update(beat_at=None))


def _compare(
    call: Recorded, published: InForce, draft: InForce, beside: Beside, tally: Tally
) -> list[BacktestCall]:
    def asked(of: InForce) -> rules.Call:
        return call_of(call.facts, agent=call.agent, environment=call.environment, tools=of.tools)

    now, then = asked(published), asked(draft)
    before = beside.answer("now", published.policy, now, answer_of(published, now), call)
    after = _answer(draft, then)
    broken = rules.breaks_at(draft.policy, then) if after is None and draft.policy is not None else ""
    if after is not None:
        after = beside.answer("draft", draft.policy, then, after, call)
    headings = tally.add(
        agent=call.agent.name, tool=call.facts.tool, before=before, after=after, decided=call.decided
    )
    return [
        BacktestCall(
            tool_call_id=call.id,
            heading=heading,
            rule=broken if after is None else "" if heading == UNDECIDED else after.rule or "",
            asks=_told(after, heading) if after else "",
        )
        for heading in headings
        if tally.changes[heading] <= MOST_LISTED
    ]


def _told(answer: rules.Answer, heading: str) -> str:
    """What stands beside a call under a heading: whom the draft asks, or what it could not decide."""
    return undecided_words(answer) if heading == UNDECIDED else asks(answer)


def _answer(draft: InForce, call: rules.Call) -> rules.Answer | None:
    """What the draft says; None when it fails, which is counted and not hidden behind an approval."""
    if draft.policy is None:
        return None
    try:
        return rules.evaluate(draft.policy, call)
    except Exception:
        log.exception("a draft failed on a recorded call of %r", call.tool)
        return None


def _keep(backtest: Backtest, batch: Sequence[Recorded], tally: Tally, found: Sequence[BacktestCall]) -> bool:
    """Moves the cursor behind a batch; whether the backtest is still open and this worker's."""
    backtest.cursor_at, backtest.cursor_id = batch[-1].at, batch[-1].id
    backtest.looked_at, backtest.figures = tally.calls, tally.dumps()
    with transaction.atomic():
        kept = _mine(backtest).update(
            cursor_at=backtest.cursor_at,
            cursor_id=backtest.cursor_id,
            looked_at=backtest.looked_at,
            figures=backtest.figures,
            beat_at=DbNow(),
        )
        if kept:
            for one in found:
                one.backtest = backtest
            BacktestCall.objects.bulk_create(found)
    return bool(kept)


def _end(backtest: Backtest, tally: Tally) -> bool:
    found = {name: tally.changes.get(name, 0) for name in ("held", "freed", "denied", "rerouted")}
    _leave(
        backtest,
        BacktestState.DONE,
        lambda: record(
            "backtest.ended",
            workspace_id=backtest.workspace_id,
            actor=SYSTEM,
            subject_id=backtest.pk,
            data=BacktestEnded(looked_at=tally.calls, **found),
        ),
    )
    return False


def _failed(backtest: Backtest, error: Exception) -> None:
    """Counts a failure of the worker; the next one tries again, and at last it is given up."""
    if backtest.failures + 1 < MOST_FAILURES:
        # The lease runs out first, so that tries do not follow each other at once.
        _mine(backtest).update(failures=F("failures") + 1)
        return
    because = type(error).__name__
    _leave(
        backtest,
        BacktestState.FAILED,
        lambda: record(
            "backtest.failed",
            workspace_id=backtest.workspace_id,
            actor=SYSTEM,
            subject_id=backtest.pk,
            data=BacktestFailed(looked_at=backtest.looked_at, because=because),
        ),
    )


def _leave(backtest: Backtest, to: str, tell: Callable[[], object]) -> None:
    with transaction.atomic():
        mine = _mine(backtest).select_for_update(no_key=True).first()
        if mine is not None:
            move(mine, to=to, table=BACKTEST_EDGES, ended_at=now(), beat_at=None)
            tell()


def _mine(backtest: Backtest) -> QuerySet[Backtest]:
    return Backtest.objects.filter(pk=backtest.pk, state=BacktestState.OPEN, epoch=backtest.epoch)
