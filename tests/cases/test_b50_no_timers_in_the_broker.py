"""B50: times are rows and sweeps; no message waits in the broker, and one that comes three times does its work once."""

from __future__ import annotations

import ast
from datetime import timedelta
from pathlib import Path

import pytest

import reviewhub
from reviewhub.audit.models import Event
from reviewhub.core.clock import now
from reviewhub.deliveries.models import Email
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.tasks import escalate_due, expire_due, remind_due
from tests.cast import Cast
from tests.driver import AgentHttp, call, policy

MANY = 20
TIMERS = {"eta", "countdown"}


@pytest.fixture
def due(cast: Cast, agent: AgentHttp) -> None:
    """Twenty requests whose reminder, escalation and deadline have all come."""
    rule = {
        "name": "Hour",
        "tool": "*",
        "action": "require",
        "deadline_seconds": 3600,
        "remind_seconds": 600,
        "escalation": [{"after_seconds": 1200, "managers": True}],
    }
    policy(cast.support, rule)
    for _ in range(MANY // 5):
        calls = [call("refund", str(number)) for number in range(5)]
        agent.pause(agent.run()["id"], *calls).ok(201)
    past = now() - timedelta(seconds=1)
    ReviewRequest.objects.update(remind_at=past, escalate_at=past)


def test_b50_three_deliveries_do_the_work_of_one(due: None) -> None:
    assert [remind_due(), remind_due(), remind_due()] == [MANY, 0, 0]
    assert [escalate_due(), escalate_due(), escalate_due()] == [MANY, 0, 0]
    mails = Email.objects.count()
    ReviewRequest.objects.update(deadline_at=now() - timedelta(seconds=1))
    assert [expire_due(), expire_due(), expire_due()] == [MANY, 0, 0]
    for kind in ("request.reminded", "request.escalated", "request.decided"):
        assert Event.objects.filter(kind=kind).count() == MANY, kind
    assert Email.objects.count() - mails <= MANY
    assert Resumption.objects.count() == MANY // 5
    assert set(ReviewRequest.objects.values_list("state", flat=True)) == {"expired"}


def test_b50_nothing_is_sent_to_be_done_later() -> None:
    sent = [
        f"{path.name}:{node.lineno}"
        for path in Path(reviewhub.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and TIMERS & {word.arg for word in node.keywords}
    ]
    assert sent == []
