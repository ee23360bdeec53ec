"""Rules, holds, pins and classes: who may not, what is refused, and that the record says it."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.accounts.acting import NotAnyMore
from reviewhub.accounts.actors import actor_for
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.audit.models import Event
from reviewhub.checkpoints.load import CheckpointRemoved
from reviewhub.checkpoints.models import Hold, Pin
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.retention.hold import Held, hold
from reviewhub.retention.pin import Pinned, pin
from reviewhub.retention.prune import prune
from reviewhub.retention.release import NotHeld, release
from reviewhub.retention.rules import Limits
from reviewhub.retention.set_rule import RuleChanged, set_rule
from reviewhub.retention.survey import limits_of
from reviewhub.retention.unpin import NotPinned, unpin
from reviewhub.runs.models import Branch, RetentionRule, Run
from tests.cast import Cast
from tests.driver import agent_of
from tests.retention.conftest import age, grow, numbers, rule


def acting(who: Member) -> Actor:
    return actor_for(MemberCaller(who), source="page")


def newest(kind: str) -> str:
    return Event.objects.filter(kind=kind).latest("id").payload.sentence


def test_only_admins_set_rules(branch: Branch, cast: Cast) -> None:
    for who in (cast.mallory, cast.bob, cast.carol):
        with pytest.raises(NotAnyMore):
            set_it(cast, Limits(), actor=acting(who))
    assert not RetentionRule.objects.exists()


def set_it(cast: Cast, limits: Limits | None, **more: Any) -> RetentionRule | None:
    given: dict[str, Any] = {
        "agent_id": None,
        "run_class": "",
        "base": 0,
        "actor": acting(cast.alice),
        **more,
    }
    return set_rule(workspace_id=cast.workspace.pk, limits=limits, **given)


def test_a_rule_has_versions_and_whoever_is_late_is_told(branch: Branch, cast: Cast) -> None:
    set_it(cast, Limits(thin_days=3))
    assert limits_of(branch.run) == Limits(thin_days=3)
    with pytest.raises(RuleChanged):
        set_it(cast, Limits(thin_days=4))
    set_it(cast, Limits(keep_last=2), base=1)
    assert (
        newest("retention.rule_set")
        == "Alice set retention of all agents, all runs: keep the last 2 of each branch"
    )
    assert limits_of(branch.run) == Limits(keep_last=2)
    set_it(cast, None, base=2)
    assert newest("retention.rule_removed") == "Alice removed the retention rule of all agents, all runs"
    assert limits_of(branch.run) == Limits(thin_days=30)


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/keep_last", {"limits": Limits(keep_last=0)}),
        ("/keep_last", {"limits": Limits(keep_last=10**9)}),
        ("/thin_days", {"limits": Limits(thin_days=-1)}),
        ("/run_class", {"limits": Limits(), "run_class": "Two words"}),
        ("/run_class", {"limits": Limits(), "run_class": "x" * 41}),
    ],
)
def test_what_is_no_rule(cast: Cast, path: str, given: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as raised:
        set_it(cast, **given)
    assert raised.value.errors[0]["path"] == path


def test_a_rule_for_somebody_elses_agent_is_not_found(branch: Branch, cast: Cast) -> None:
    with pytest.raises(NotFound):
        set_rule(
            workspace_id=cast.other.pk,
            agent_id=branch.run.agent_id,
            run_class="",
            limits=Limits(),
            base=0,
            actor=acting(cast.mallory),
        )


def test_a_class_has_to_be_one_that_an_admin_made_and_only_lengthens(cast: Cast) -> None:
    agent = agent_of(cast.support)
    refused = agent.post("/runs", {"retention_class": "cases"})
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, "/retention_class")
    set_it(cast, Limits(thin_days=3, keep_last=5))
    set_it(cast, Limits(thin_days=90, keep_last=2), run_class="cases")
    made = agent.post("/runs", {"retention_class": "cases"}).ok(201)
    assert made["retention_class"] == "cases"
    assert limits_of(Run.objects.get(pk=made["id"])) == Limits(thin_days=90, keep_last=5)


def test_a_hold(branch: Branch, cast: Cast) -> None:
    for who in (cast.mallory, cast.bob):
        with pytest.raises(NotAnyMore):
            hold(run=branch.run, reason="no", actor=acting(who))
    with pytest.raises(Invalid):
        hold(run=branch.run, reason=" ", actor=acting(cast.carol))
    hold(run=branch.run, reason="a lawsuit", actor=acting(cast.carol))
    with pytest.raises(Held, match="Carol put this run under hold already: a lawsuit"):
        hold(run=branch.run, reason="again", actor=acting(cast.alice))
    grow(branch, 10)
    age(99)
    assert prune(run_id=branch.run_id).is_nothing
    with pytest.raises(NotAnyMore):
        release(run=branch.run, reason="over", actor=acting(cast.mallory))
    release(run=branch.run, reason="it is over", actor=acting(cast.alice))
    assert newest("run.released").endswith(": it is over")
    assert not Hold.objects.exists()
    with pytest.raises(NotHeld):
        release(run=branch.run, reason="over", actor=acting(cast.alice))
    assert prune(run_id=branch.run_id).checkpoints == 6


def test_a_pin(branch: Branch, cast: Cast) -> None:
    rows = grow(branch, 10)
    for who in (cast.mallory, cast.dave):
        with pytest.raises(NotAnyMore):
            pin(checkpoint=rows[1], reason="no", actor=acting(who))
    pin(checkpoint=rows[1], reason="the bug", actor=acting(cast.bob))
    with pytest.raises(Pinned, match="Bob pinned this checkpoint already: the bug"):
        pin(checkpoint=rows[1], reason="again", actor=acting(cast.alice))
    rule(branch.run, max_age_days=0)
    prune(run_id=branch.run_id)
    assert numbers(branch) == [1, 2, 9, 10]
    with pytest.raises(CheckpointRemoved):
        pin(checkpoint=rows[4], reason="too late", actor=acting(cast.bob))
    with pytest.raises(NotAnyMore):
        unpin(checkpoint=rows[1], actor=acting(cast.mallory))
    unpin(checkpoint=rows[1], actor=acting(cast.bob))
    assert newest("checkpoint.unpinned") == "Bob took the pin off checkpoint 2 of main"
    assert not Pin.objects.exists()
    with pytest.raises(NotPinned):
        unpin(checkpoint=rows[1], actor=acting(cast.bob))
    prune(run_id=branch.run_id)
    assert numbers(branch) == [9, 10]
