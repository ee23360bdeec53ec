"""Where a run whose worker was killed goes on, and that runs at once have nothing of each other."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reviewhub_agents import canonical
from reviewhub_agents.demos import support_shop

from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.hosting.models import Shift
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from tests.chaos import actors
from tests.chaos.counting import begun, follows
from tests.chaos.crew import Crew, make_crew
from tests.chaos.test_long_calls import until

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 40


@pytest.fixture
def graph() -> str:
    return "own"


@pytest.fixture
def crew(
    db: None, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Iterator[Crew]:
    """Two workers."""
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    settings.HOSTED_GRAPHS = {**settings.HOSTED_GRAPHS, **actors.GRAPHS}
    made = make_crew(graph, tmp_path, rules=[])
    for _ in range(2):
        made.add("work")
    yield made
    made.kill_all()


def killed_in(crew: Crew, *, steps: int, stops_in: int) -> list[int]:
    """The steps that began after the worker was killed in step `stops_in`."""
    crew.start("killed", name="killed", steps=steps, stops_in=stops_in)
    until(lambda: begun("killed")[-1:] and begun("killed")[-1][0] == stops_in)
    before = begun("killed")
    holder = next(one for one in crew.actors if one.process.pid == before[-1][1])
    holder.kill()
    crew.wait()
    assert [n for n, _ in before] == list(range(1, stops_in + 1))
    assert Shift.objects.filter(ending="lost").count() == 1
    return [n for n, _ in begun("killed")[len(before) :]]


@pytest.mark.parametrize("graph", ["every"])
def test_killed_in_step_14_of_20_another_worker_loads_13(crew: Crew) -> None:
    assert killed_in(crew, steps=20, stops_in=14) == list(range(14, 21))


@pytest.mark.parametrize("graph", ["milestones"])
@pytest.mark.parametrize(("stops_in", "again_from"), [(1, 1), (5, 1), (6, 6), (20, 16), (43, 41), (45, 41)])
def test_with_a_milestone_each_5_of_45_at_most_5_begin_again(
    crew: Crew, stops_in: int, again_from: int
) -> None:
    assert killed_in(crew, steps=45, stops_in=stops_in) == list(range(again_from, 46))


def test_runs_at_once_have_nothing_of_each_other(crew: Crew) -> None:
    """All of them wait for people at the same moment; then whichever worker is free goes on with each."""
    given = {f"run {at}": secrets.token_hex(16) for at in range(MANY)}
    runs = {name: crew.start("approve", name=name, secret=secret) for name, secret in given.items()}
    until(lambda: Run.objects.filter(state="paused").count() == MANY)
    crew.add("decide")
    crew.wait()
    assert Shift.objects.values("owner").distinct().count() == 2
    for name, secret in given.items():
        made, last = follows(secret, 1), follows(secret, 2)
        rows = Checkpoint.objects.filter(branch__run=runs[name]).order_by("step")
        states = [canonical.plain(canonical.reread(load(row))) for row in rows]
        assert {(state["name"], state["secret"]) for state in states} == {(name, secret)}
        assert [state["trail"] for state in states] == [[], [made], [made, made], [made, made, last]]
        call = ToolCall.objects.get(run=runs[name])
        assert call.result == canonical.dumps(made)
        assert (crew.folder / f"own-{name}").read_text().split() == [made]
