"""What the newest runs of an agent weigh together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from reviewhub_agents import wire

from reviewhub.audit.models import Event
from reviewhub.budgets import weigh_agent as weighing
from reviewhub.budgets.weigh_agent import weigh_agent
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.start import start
from tests.budgets.test_weigh import stored
from tests.cast import Cast, by_key, make_test_agent
from tests.checkpoints.conftest import put
from tests.checkpoints.test_damage import damage
from tests.shared import shared

pytestmark = pytest.mark.django_db


@shared
def branches(cast: Cast) -> list[Branch]:
    """Three runs of one agent: two with states, the newest without."""
    _, key, _ = make_test_agent(cast.support)
    made = [start(key=key, body=wire.RunStart(), actor=by_key(key))[0].branches.get() for _ in range(3)]
    for at in range(3):
        put(made[0], json.dumps({"doc": "x" * 98 * (at + 1), "n": at}))
    put(made[1], json.dumps({"doc": "y" * 598, "log": ["z" * 50]}))
    return made


def fields(runs: Any) -> list[tuple[str, int, int, int]]:
    return [(one.name, one.runs, one.most, one.bytes) for one in weigh_agent(runs).fields]


def test_fields_are_summed_over_the_newest_states(branches: list[Branch]) -> None:
    assert fields(Run.objects.all()) == [("doc", 2, 600, 896), ("log", 1, 54, 54), ("n", 1, 1, 1)]
    found = weigh_agent(Run.objects.all())
    assert [(one.run.pk, one.kept.checkpoints, one.kept.bytes) for one in found.runs] == [
        (branches[2].run_id, 0, 0),
        (branches[1].run_id, 1, stored(branches[1])),
        (branches[0].run_id, 3, stored(branches[0])),
    ]
    assert [one.newest.number if one.newest else None for one in found.runs] == [None, 1, 3]
    assert (found.read, found.fields[0].share) == (2, 92)
    assert [one.tokens for one in found.fields] == [150 + 74, 14, 1]
    assert [one.largest[:2] for one in found.fields] == ['"y', '["', "2"]
    assert all(one.times is not None and one.times.read_us >= 0 for one in found.fields)


def test_the_newest_runs_come_first_and_large_states_are_left_out(
    branches: list[Branch], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(weigh_agent(Run.objects.all(), most=2).runs) == 2
    monkeypatch.setattr(weighing, "MOST_BYTES", 500)
    assert fields(Run.objects.all()) == [("doc", 1, 296, 296), ("n", 1, 1, 1)]


def test_a_damaged_state_is_named_and_the_rest_is_told(cast: Cast, branches: list[Branch]) -> None:
    head = Checkpoint.objects.get(branch=branches[1])
    damage(Checkpoint.objects.filter(pk=head.pk), content=b"\x07")
    found = weigh_agent(Run.objects.all())
    assert (found.damaged, found.read) == ([head.pk], 1)
    bob = Client()
    bob.force_login(cast.bob.person)
    page = bob.get(f"/northwind/agents/{branches[0].run.agent_id}/budget")
    assert page.status_code == 200
    assert Event.objects.filter(kind="checkpoint.corrupt", subject_id=head.pk).count() == 1


def test_ten_thousand_fields_are_twenty_and_a_number(branches: list[Branch]) -> None:
    put(branches[2], json.dumps({f"f{at}": at for at in range(10_000)}))
    found = weigh_agent(Run.objects.all())
    assert (len(found.fields), found.others) == (20, 10_003 - 20)
