"""Recorded runs as hosted ones: the model is the recording, writes are gated, and workers are killed at random.

The same with several calls in one turn, of which the recordings have none.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reviewhub_agents.demos import support_shop

from reviewhub.policies.rules import Rule
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from tests.chaos import actors, recorded
from tests.chaos.crew import Crew, make_crew, open_runs
from tests.chaos.figures import note

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "200"))
# A short run plays the talks with the most writes.
PLAYED = 4 if ROUNDS < 50 else 100
RULES = tuple(
    Rule(name=f"{name} passes", tool=name, action="allow")
    for name, tool in recorded.recorded.tools.items()
    if tool.effect == "read"
)


@pytest.fixture
def crew(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Crew]:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    settings.HOSTED_GRAPHS = {**settings.HOSTED_GRAPHS, **actors.GRAPHS}
    made = make_crew("recorded", tmp_path, rules=RULES)
    yield made
    made.kill_all()


def writes(number: int) -> list[str]:
    """The writes of a talk."""
    return [name for name in recorded.calls_of(recorded.TALKS[number]) if name in recorded.WRITES]


@pytest.mark.parametrize("together", [False, True], ids=["as recorded", "several in a turn"])
def test_every_talk_ends_as_it_was_recorded(crew: Crew, together: bool) -> None:
    dice = random.Random(7)
    talks = sorted(range(len(recorded.TALKS)), key=lambda one: -len(writes(one)))[:PLAYED]
    for number in talks:
        crew.start("approve", number=number, together=together)
    for what in ("work", "work", "decide"):
        crew.add(what)
    while open_runs() and crew.deaths < ROUNDS:
        time.sleep(dice.uniform(0.05, 0.6))
        dice.choice(crew.actors).kill()
        crew.revive()
    crew.wait()
    asked = Counter(ToolCall.objects.values_list("tool_name", flat=True))
    assert asked == Counter(
        f"air.{name}" for number in talks for name in recorded.calls_of(recorded.TALKS[number])
    )
    done = Counter(recorded.effects())
    wanted = ToolCall.objects.filter(effect="once")
    assert done == Counter(call.idempotency_key for call in wanted), "a write twice, or not at all"
    for run in Run.objects.all():
        number = json.loads(run.input)["number"]
        same_but_for_results(json.loads(run.result), recorded.talk_of(number, together=together))
    figures = {
        "expected": wanted.count(),
        "done": done.total(),
        "asked": ReviewRequest.objects.filter(kind="unknown").count(),
    }
    note(
        f"kills with recorded talks{', several calls in a turn' if together else ''}",
        kills=crew.deaths,
        runs=len(talks),
        **figures,
    )


def same_but_for_results(got: list[dict[str, Any]], talk: list[dict[str, Any]]) -> None:
    """Every word as it was recorded; behind each turn exactly one result for each of its calls, in order."""
    at = 0
    words = [message for message in talk if message["role"] != "tool"]
    for message in got:
        if message["role"] == "tool":
            continue
        assert message == words[at]
        at += 1
    assert at == len(words) or all(one["role"] != "assistant" for one in words[at:])
    for place, message in enumerate(got):
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        results = got[place + 1 : place + 1 + len(ids)]
        assert [one.get("tool_call_id") for one in results] == ids
