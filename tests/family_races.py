"""Two ends of one family at the same moment: nobody waits for ever, and nobody goes on alone."""

from __future__ import annotations

from typing import Any

from reviewhub.core.actors import SYSTEM
from reviewhub.core.clock import now
from reviewhub.gates.cancel import cancel
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Child
from tests.driver import AgentHttp, Reply
from tests.racing import together


def _family(agent: AgentHttp, children: int) -> tuple[Any, list[Any]]:
    """A new run that has started children: its branch, and they."""
    branch = agent.run()["branches"][0]["id"]
    started = [
        agent.post(f"/branches/{branch}/children", {"key": f"k{number}", "graph": "reader"}).ok(200)
        for number in range(children)
    ]
    return branch, started


def _woken(branch: str) -> bool:
    return Resumption.objects.open().filter(branch=branch, due_at__lte=now()).exists()


def child_ends_child_ends(agent: AgentHttp) -> None:
    """Two children that their parent waits for end at once: it is woken."""
    branch, (one, other) = _family(agent, 2)
    assert agent.post(f"/branches/{branch}/wait", {}).ok(200)["over"] is False
    assert not _woken(branch)
    twin = AgentHttp(token=agent.token)
    replies = together(
        lambda: agent.post(f"/branches/{one['branch']}/finish", {}),
        lambda: twin.post(f"/branches/{other['branch']}/fail", {"error": "no such page"}),
    )
    assert [reply.status for reply in replies] == [200, 200], replies
    assert _woken(branch)
    said = agent.post(f"/branches/{branch}/wait", {}).ok(200)
    assert [child["outcome"] for child in said["children"]] == ["done", "failed"]


def child_ends_parent_waits(agent: AgentHttp) -> None:
    """A child ends while its parent begins to wait: it sees the end, or is woken by it."""
    branch, (child,) = _family(agent, 1)
    twin = AgentHttp(token=agent.token)
    waits, ends = together(
        lambda: agent.post(f"/branches/{branch}/wait", {}),
        lambda: twin.post(f"/branches/{child['branch']}/finish", {}),
    )
    assert (waits.status, ends.status) == (200, 200), (waits, ends)
    assert waits.json["over"] or _woken(branch)


def child_ends_parent_ends(agent: AgentHttp) -> None:
    """A child ends while its parent is cancelled: both are over, and nothing wakes either of them."""
    branch, (child,) = _family(agent, 1)
    agent.post(f"/branches/{branch}/wait", {}).ok(200)
    run = Branch.objects.get(pk=branch).run_id
    ends, cancelled = together(
        lambda: agent.post(f"/branches/{child['branch']}/finish", {}),
        lambda: cancel(run_id=run, reason="not wanted", actor=SYSTEM),
    )
    assert cancelled is True
    assert isinstance(ends, Reply), ends
    assert ends.status in (200, 409)
    outcome = "done" if ends.status == 200 else "cancelled"
    assert Child.objects.get(parent_branch=branch).outcome == outcome
    assert Branch.objects.get(pk=branch).state == "cancelled"
    assert not Resumption.objects.open().filter(branch__in=[branch, child["branch"]]).exists()


def child_starts_twice(agent: AgentHttp) -> None:
    """One key twice at once: one child."""
    branch, _ = _family(agent, 0)
    twin = AgentHttp(token=agent.token)
    body = {"key": "k", "graph": "reader"}
    replies = together(
        lambda: agent.post(f"/branches/{branch}/children", body),
        lambda: twin.post(f"/branches/{branch}/children", body),
    )
    assert [reply.status for reply in replies] == [200, 200], replies
    assert replies[0].json["run"] == replies[1].json["run"]


RACES = (child_ends_child_ends, child_ends_parent_waits, child_ends_parent_ends, child_starts_twice)
