"""B44 for plans: to put an old plan back in force takes no approval, so it gives none either."""

from __future__ import annotations

from reviewhub.plans.models import PlanVersion
from reviewhub.toolcalls.in_plan import is_approved
from tests.cast import Cast
from tests.driver import policy
from tests.gates.test_acts import GATED, STEPS, Stage

WHY = {"kind": "agent", "text": "shorter"}
FOUR_EYES = {**GATED, "four_eyes": True}


def approved(number: int) -> bool:
    return is_approved(PlanVersion.objects.get(number=number))


def restored(stage: Stage, version: int, *, base: int) -> int:
    body = {"base": base, "reason": "It was better."}
    return int(stage.bob.post(f"/runs/{stage.run}/plans/{version}/restore", body).ok(201)["version"])


def test_b44_restoring_what_nobody_approved_approves_nothing(cast: Cast) -> None:
    stage = Stage(cast)
    policy(cast.support, {**GATED, "name": "Mails", "tool": "mail"})
    stage.plan().ok(201)
    policy(cast.support, FOUR_EYES)
    stage.approved_plan(STEPS[:1], base=1, why=WHY)
    assert (approved(1), approved(2)) == (False, True)
    assert not approved(restored(stage, 1, base=2)), "one person alone, whose run it may be"
    again = restored(stage, 2, base=3)
    assert approved(again), "people approved exactly this before"
    assert approved(restored(stage, 1, base=again)) is False
    assert approved(restored(stage, again, base=again + 1))
