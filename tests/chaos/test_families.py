"""Child runs under fire: workers, deciders and everything at once killed while a parent starts, awaits and reads them.

Every run ends, no child is started twice, no effect happens twice, and every parent has the end of each child.
`CHAOS_ROUNDS` says how many random kills (200).
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from reviewhub_agents.demos import support_shop, triage_desk

from reviewhub.ops.chaos.play import POINTS
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Child, Run
from reviewhub.toolcalls.models import ToolCall
from tests.chaos.crew import Crew, make_crew, open_runs
from tests.chaos.figures import note

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "200"))
MESSAGES = 3
"""The third of them is the one that waits for people."""

# One worker does all of it in this order: it claims the parent (1), which starts three children and waits; then the
# children (2 to 4), of which the third pauses; when that was approved the third again (5), and the parent (6).
MATRIX = (
    ("start_child.before_commit", 2, "worker"),
    ("start_child.after_commit", 3, "everything"),
    ("wait_for.before_commit", 1, "everything"),
    ("wait_for.after_commit", 1, "worker"),
    ("child_ended.before_commit", 1, "worker"),
    ("child_ended.before_commit", 3, "everything"),
    ("decide.before_commit", 1, "everything"),
    ("decide.after_commit", 1, "web"),
    ("resume.after_claim", 6, "everything"),
    ("resume.before_settle", 6, "worker"),
)


@pytest.fixture
def desk(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    made = make_crew("triage", tmp_path)
    yield made
    made.kill_all()


def not_asked() -> int:
    """What has to happen before the parent and its third child are all that waits, and nobody holds them."""
    asked = Run.objects.filter(state="paused").count()
    held = Resumption.objects.open().exclude(state="queued", for_children=True).count()
    return held + (asked != 1)


@pytest.mark.parametrize(("point", "time_number", "dies"), MATRIX)
def test_killed_at_a_fault_point(desk: Crew, point: str, time_number: int, dies: str) -> None:
    fault = f"{point}:kill:{time_number}"
    desk.start("morning", messages=MESSAGES)
    desk.add("work", fault=fault)
    while not_asked() and not desk.actors[0].dead:
        time.sleep(0.02)
    desk.add("decide", fault=fault)
    while not any(actor.dead for actor in desk.actors):
        assert open_runs(), "the fault point was not reached"
        time.sleep(0.02)
    if dies == "everything":
        desk.kill_all()
    desk.wait()
    assert check_books()["unknown"] == 0


def test_killed_again_and_again(desk: Crew, capsys: pytest.CaptureFixture[str]) -> None:
    """Two families at a time; workers and deciders die where the dice say, and now and then all of them at once."""
    seed = int(os.environ.get("CHAOS_SEED", "0")) or random.randrange(10**9)
    dice = random.Random(seed)

    def fault() -> str:
        points = (*POINTS, "decide.before_commit", "decide.after_commit")
        return f"{dice.choice(points)}:kill:{dice.randint(1, 4)}" if dice.random() < 0.7 else ""

    for what in ("work", "work", "decide"):
        desk.add(what, fault=fault())
    while desk.deaths < ROUNDS:
        while Run.objects.filter(parent=None, state__in=["running", "paused"]).count() < 2:
            desk.start("morning", messages=MESSAGES)
        time.sleep(0.1)
        if dice.random() < 0.03:
            dice.choice(desk.actors).kill()
        if dice.random() < 0.01:
            desk.kill_all()
        desk.revive(fault)
    desk.kill_all()
    desk.wait()
    counts = check_books()
    effects = {"expected": counts["parents"], "done": counts["credits"], "asked": counts["unknown"]}
    runs = counts["parents"] + counts["children"]
    note("kills with child runs in flight", kills=desk.deaths, runs=runs, **effects)
    with capsys.disabled():
        print(
            f"\n{connection.vendor}: {desk.deaths} kills (seed {seed}), {counts['parents']} parents with "
            f"{counts['children']} child runs, all ended; {counts['credits']} credits expected and done, "
            f"{counts['unknown']} asked of a person, nothing twice"
        )


def check_books() -> Counter[str]:
    """Compares runs, ledger and what really happened at the desk; counts what was done."""
    parents = list(Run.objects.filter(parent=None))
    assert set(Run.objects.values_list("state", flat=True)) == {"succeeded"}
    assert not Resumption.objects.open().exists()
    wanted = [f"Message {one}" for one in range(1, MESSAGES + 1)]
    for parent in parents:
        titles = Child.objects.filter(parent_branch__run=parent).values_list("branch__run__title", flat=True)
        assert sorted(titles) == wanted, "a child was started twice, or not at all"
        lines = json.loads(parent.result).splitlines()
        assert [line[0] for line in lines] == ["1", "2", "3"]
        assert lines[2].endswith("18.00 credited")
    children = Run.objects.exclude(parent=None).count()
    assert children == len(parents) * MESSAGES == Child.objects.count()
    asked = Counter(ToolCall.objects.values_list("tool_name", flat=True))
    assert asked == {
        "desk.message": children,
        "desk.answer": children,
        "desk.credit": len(parents),
        "desk.report": len(parents),
    }
    credited = Counter(key for _, _, key in triage_desk.credited())
    calls = ToolCall.objects.filter(tool_name="desk.credit")
    assert credited == Counter(call.idempotency_key for call in calls), "a credit twice, or not at all"
    assert Counter(number for number, _ in triage_desk.answers()) == dict.fromkeys(
        range(1, MESSAGES + 1), len(parents)
    )
    assert len(triage_desk.reports()) == len(parents)
    unknown = ReviewRequest.objects.filter(kind="unknown").count()
    return Counter(parents=len(parents), children=children, credits=len(credited), unknown=unknown)
