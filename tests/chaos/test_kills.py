"""Workers and deciders killed hard, at every fault point and at random: every run ends, no effect is lost or doubled.

`CHAOS_ROUNDS` says how many random kills (200; a short run sets 10 or so).
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.db import connection
from reviewhub_agents.demos import support_shop

from reviewhub.accounts.models import Agent
from reviewhub.core import faults
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.demo import RULES
from reviewhub.hosting.start import start
from reviewhub.policies.publish import publish
from reviewhub.policies.reading import policy_text
from reviewhub.policies.rules import Policy
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Pause, ToolCall
from tests.cast import Cast, make_cast
from tests.chaos.actors import Actor

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "200"))
PATIENCE = 300.0
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
        for point in ("resume.after_claim", "resume.before_settle")
        for time_number in (1, 2)
    ),
    ("decide.before_commit", 1),
    ("decide.after_commit", 1),
]
ASKED = {("consume.after_commit", 2), ("outcome.before_commit", 2)}
"""Where nobody can know whether the refund happened."""


@dataclass
class Shop:
    """The demo's agent, its shop, and the processes around it."""

    agent: Agent
    cast: Cast
    folder: Path
    actors: list[Actor] = field(default_factory=list)
    deaths: int = 0

    def add(self, what: str, *, fault: str = "") -> None:
        """One more process."""
        self.actors.append(Actor(what, shop=self.folder, person=self.cast.bob.pk, fault=fault))

    def revive(self, fault: Callable[[], str] = str) -> None:
        """Another process for each that was killed, with the next fault."""
        for place, actor in enumerate(self.actors):
            if actor.dead:
                self.deaths += 1
                self.actors[place] = actor.again(fault())

    def start(self, turn: str) -> Run:
        """A new run whose refund gets the answer `turn`."""
        wish = "Order 8812 came crushed, I want $12.50 back"
        return start(agent=self.agent, given={"wish": wish}, actor=SYSTEM, title=turn)

    def wait(self, busy: Callable[[], int] | None = None) -> None:
        """Waits until every run has ended, or until nothing is `busy`."""
        end = time.monotonic() + PATIENCE
        while (busy or open_runs)():
            assert time.monotonic() < end, stuck()
            self.revive()
            time.sleep(0.05)


def open_runs() -> int:
    return Run.objects.filter(state__in=["running", "paused"]).count()


def not_asked() -> int:
    """How many runs have not come to their pause, or have a worker that has not let go of it."""
    return Run.objects.exclude(state="paused").count() + Resumption.objects.open().count()


def stuck() -> str:
    """What is left over, for whoever has to find out why."""
    rows = [
        *Branch.objects.exclude(state="succeeded").values_list("run__title", "state", "lease_until"),
        *Resumption.objects.open().values_list("state", "attempts", "due_at", "lease_until", "error"),
        *ToolCall.objects.exclude(state="succeeded").values_list("tool_name", "state", "attempt"),
        *Pause.objects.filter(state="waiting").values_list("state", "open_calls", "version"),
    ]
    return "\n".join(map(str, rows))


@pytest.fixture
def shop(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    cast = make_cast()
    agent = adopt(team=cast.support, graph="support", name="Support", owner=None, actor=SYSTEM)
    # After its tools are registered: a policy lets run what was known when it was published.
    text = policy_text(Policy(rules=RULES))
    publish(workspace=cast.workspace, rules_text=text, note="chaos", base=0, actor=SYSTEM)
    made = Shop(agent=agent, cast=cast, folder=tmp_path)
    yield made
    for actor in made.actors:
        actor.kill()


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


@pytest.mark.parametrize(("point", "time_number"), MATRIX)
def test_killed_at_a_fault_point(shop: Shop, point: str, time_number: int) -> None:
    fault = f"{point}:kill:{time_number}"
    shop.add("work", fault=fault)
    shop.start("approve")
    # A person who is quicker than the worker would keep it from some of the points.
    shop.wait(not_asked)
    shop.add("decide", fault=fault)
    shop.wait()
    shop.revive()
    assert shop.deaths == 1, "the fault point was not reached"
    counts = check_books()
    assert counts["unknown"] == ((point, time_number) in ASKED)


def test_killed_again_and_again(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
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
            shop.start(TURNS[started % len(TURNS)])
            started += 1
        time.sleep(0.1)
        if dice.random() < 0.05:
            dice.choice(shop.actors).kill()
        shop.revive(fault)
    for actor in shop.actors:
        actor.kill()
    shop.wait()
    counts = check_books()
    with capsys.disabled():
        print(
            f"\n{connection.vendor}: {shop.deaths} kills (seed {seed}), {counts['runs']} runs, all ended; "
            f"{counts['refunds']} refunds expected and done, {counts['unknown']} asked of a person, nothing twice"
        )
