"""Workers and deciders killed hard or told to stop, at every fault point and at random: every run ends, no effect is
lost or doubled.

`CHAOS_ROUNDS` says how many random kills (200; a short run sets 10 or so).
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from reviewhub_agents.demos import support_shop

from reviewhub.core import faults
from reviewhub.hosting.models import Shift
from reviewhub.resumptions.models import Failure, Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import Attempt, ToolCall
from tests.chaos.crew import Crew, make_crew, open_runs
from tests.chaos.figures import note

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "200"))
TURNS = ("approve", "edit", "reject", "respond")

# Each point at the calls in turn: reading the order, the refund, the e-mail.
CALLS = (
    "pause.before_commit",
    "pause.after_commit",
    "consume.before_commit",
    "consume.after_commit",
    "outcome.before_commit",
    "outcome.after_commit",
)
MATRIX = [
    *((point, time_number) for point in CALLS for time_number in (1, 2, 3)),
    *(
        (point, time_number)
        for point in (
            "resume.after_claim",
            "resume.before_settle",
            "checkpoint.before_commit",
            "checkpoint.after_commit",
        )
        for time_number in (1, 2)
    ),
    ("decide.before_commit", 1),
    ("decide.after_commit", 1),
]
ASKED = {("consume.after_commit", 2), ("outcome.before_commit", 2)}
"""Where nobody can know whether the refund happened."""


def not_asked() -> int:
    """How many runs have not come to their pause, or have a worker that has not let go of it."""
    return Run.objects.exclude(state="paused").count() + Resumption.objects.open().count()


@pytest.fixture
def shop(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    made = make_crew("support", tmp_path)
    yield made
    made.kill_all()


def begin(shop: Crew, turn: str) -> Run:
    """A new run whose refund gets the answer `turn`."""
    return shop.start(turn, wish="Order 8812 came crushed, I want $12.50 back")


def check_books() -> Counter[str]:
    """Compares the ledger with what really happened in the shop; counts what was done."""
    paid = Counter(key for _, _, key in support_shop.refunds())
    amounts = {key: amount for _, amount, key in support_shop.refunds()}
    counts: Counter[str] = Counter()
    for call in ToolCall.objects.filter(tool_name="shop.refund").select_related("run"):
        expected = 1 if call.run.title in {"approve", "edit"} else 0
        assert paid.pop(call.idempotency_key, 0) == expected, (call.run.title, call.state, call.attempt)
        assert call.state == {"approve": "succeeded", "edit": "succeeded", "reject": "denied"}.get(
            call.run.title, "skipped"
        )
        if expected:
            wanted = "1.00" if call.run.title == "edit" else "12.50"
            assert amounts[call.idempotency_key] == wanted
        counts["refunds"] += expected
    assert not paid, "refunds that no call knows of"
    runs = Run.objects.count()
    assert Run.objects.filter(state="succeeded").count() == runs
    assert len(support_shop.emails()) == runs
    assert ToolCall.objects.filter(tool_name="shop.refund").count() == runs, "a refund was asked for twice"
    assert not Resumption.objects.open().exists()
    counts["runs"] = runs
    counts["unknown"] = ReviewRequest.objects.filter(kind="unknown").count()
    return counts


@pytest.mark.parametrize("act", ["kill", "term"])
@pytest.mark.parametrize(("point", "time_number"), MATRIX)
def test_killed_or_told_to_stop_at_a_fault_point(shop: Crew, point: str, time_number: int, act: str) -> None:
    fault = f"{point}:{act}:{time_number}"
    shop.add("work", fault=fault)
    begin(shop, "approve")
    # A person who is quicker than the worker would keep it from some of the points.
    shop.wait(not_asked)
    shop.add("decide", fault=fault)
    shop.wait()
    # Who was told to stop ends a moment after its run.
    shop.wait(lambda: act == "term" and shop.deaths == 0)
    shop.revive()
    assert shop.deaths == 1, "the fault point was not reached"
    counts = check_books()
    if act == "kill":
        assert counts["unknown"] == ((point, time_number) in ASKED)
        return
    assert counts["unknown"] == 0
    assert Attempt.objects.filter(tool_call__tool_name="shop.refund").count() == 1
    assert not Failure.objects.exists(), "another worker had to wait for the lease of one that stopped"
    assert not Shift.objects.filter(ending__in=["lost", "failed"]).exists()
    assert not Shift.objects.filter(ended_at__isnull=True).exists()


def test_killed_again_and_again(shop: Crew, capsys: pytest.CaptureFixture[str]) -> None:
    """Four runs at a time; every process dies at a point and a time that the dice say, or in between."""
    seed = int(os.environ.get("CHAOS_SEED", "0")) or random.randrange(10**9)
    dice = random.Random(seed)

    def fault() -> str:
        return f"{dice.choice(faults.POINTS)}:kill:{dice.randint(1, 4)}" if dice.random() < 0.7 else ""

    for what in ("work", "work", "decide"):
        shop.add(what, fault=fault())
    started = 0
    while shop.deaths < ROUNDS:
        while open_runs() < 4:
            begin(shop, TURNS[started % len(TURNS)])
            started += 1
        time.sleep(0.1)
        if dice.random() < 0.05:
            dice.choice(shop.actors).kill()
        shop.revive(fault)
    shop.kill_all()
    shop.wait()
    counts = check_books()
    effects = {"expected": counts["refunds"], "done": len(support_shop.refunds()), "asked": counts["unknown"]}
    note("kills", kills=shop.deaths, runs=counts["runs"], **effects)
    with capsys.disabled():
        print(
            f"\n{connection.vendor}: {shop.deaths} kills (seed {seed}), {counts['runs']} runs, all ended; "
            f"{counts['refunds']} refunds expected and done, {counts['unknown']} asked of a person, nothing twice"
        )
