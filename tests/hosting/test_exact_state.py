"""A hosted run whose state has what JSON lacks goes on with the same types, also from a state saved before."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from reviewhub_agents import canonical
from reviewhub_agents.runtime.state import load as state_of

from reviewhub.accounts.models import Agent
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from tests.cast import Cast
from tests.driver import policy
from tests.hosting.conftest import Hosted
from tests.runtime.exact_agent import Basket, full


@pytest.fixture
def basket(hosted: Hosted, cast: Cast, settings: Any) -> Hosted:
    settings.HOSTED_GRAPHS = {"basket": "tests.hosting.graphs:basket"}
    policy(cast.support)
    agent: Agent = adopt(team=cast.support, graph="basket", name="Basket", owner=None, actor=SYSTEM)
    return dataclasses.replace(hosted, agent=agent)


def test_b19_a_hosted_run_goes_on_with_every_type(basket: Hosted) -> None:
    run = basket.start()
    basket.work()
    saved = Checkpoint.objects.order_by("-number")[0]
    assert state_of(Basket, load(saved)) == Basket(**full(), steps=["fill"])
    basket.decide("approve")
    basket.work()
    run.refresh_from_db()
    assert run.state == "succeeded", run.error
    said = canonical.to_python(canonical.parse(run.result or ""))[1]
    assert said.startswith("True (Decimal('0.10'), b'\\xff', 1.0) Place")
    assert "fold=1" in said


def test_a_run_starts_from_input_as_it_was_written_before(basket: Hosted) -> None:
    values = full() | {"name": "x", "rate": 1.5, "raw": b"ok", "anything": None, "blob": None}
    basket.start(**Basket(**values).model_dump(mode="json"))
    basket.work()
    first = state_of(Basket, load(Checkpoint.objects.order_by("number")[0]))
    assert first.total.as_tuple() == values["total"].as_tuple()
    assert first.items[0].kind is values["items"][0].kind
