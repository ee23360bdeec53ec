"""Whoever follows an address to what was removed is told so, by one answer; a stranger is told of nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from reviewhub.checkpoints.models import Checkpoint, Tombstone
from reviewhub.core.clock import now
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Run
from tests.api.access import ACCESS
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of
from tests.retention.conftest import rule
from tests.web.test_access import PAGES

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(cast: Cast) -> tuple[AgentHttp, str, str, str]:
    """An agent, its run, a checkpoint of that which is there and one that was removed."""
    agent = agent_of(cast.support)
    run = agent.run()["id"]
    for number in range(6):
        agent.post(f"/runs/{run}/checkpoints", {"state": {"n": number}}).ok(201)
    rule(Run.objects.get(pk=run), keep_last=1)
    prune(run_id=run)
    stone = Tombstone.objects.order_by("number").first()
    assert stone is not None
    return (
        agent,
        run,
        str(Checkpoint.objects.order_by("-number").values_list("pk", flat=True)[0]),
        str(stone.pk),
    )


def test_the_api_says_gone_at_every_address(run: tuple[AgentHttp, str, str, str], cast: Cast) -> None:
    agent, run_id, here, gone = run
    people = {"b": PersonHttp(cast.bob), "c": PersonHttp(cast.carol)}
    dave, other = PersonHttp(cast.dave), agent_of(cast.support, "Neighbour")
    asked = {}
    for endpoint, row in ACCESS.items():
        if "checkpoint>" not in endpoint and "other>" not in endpoint:
            continue
        method, pattern = endpoint.split(" ", 1)
        for name in re.findall(r"<uuid:(checkpoint|other)>", pattern):
            address = pattern
            for each in ("checkpoint", "other"):
                address = address.replace(f"<uuid:{each}>", gone if each == name else here)
            address = f"/{address}" + ("?path=/n" if "blame" in address else "")
            mine, theirs = (agent, other) if "o" in row.may else (people["b"], dave)
            asked[endpoint, name] = [_said(who, method, address, row.body) for who in (mine, theirs)]
    wanted = [(410, "checkpoint_removed"), (404, "not_found")]
    assert {at: said for at, said in asked.items() if said != wanted} == {}
    assert len(asked) >= 9


def _said(who: AgentHttp | PersonHttp, method: str, address: str, body: Any) -> tuple[int, str]:
    reply = who.get(address) if method == "GET" else who.post(address, body)
    return reply.status, reply.code


def test_what_is_left_is_told(run: tuple[AgentHttp, str, str, str]) -> None:
    agent, run_id, _, gone = run
    stone = Tombstone.objects.select_related("removal").get(pk=gone)
    told = agent.get(f"/checkpoints/{gone}").json
    assert {name: told[name] for name in ("run", "branch", "number", "hash", "kind", "because")} == {
        "run": run_id,
        "branch": "main",
        "number": stone.number,
        "hash": stone.state_hash,
        "kind": "retention",
        "because": stone.removal.reason,
    }
    assert told["removed_at"] == stone.removal.created_at.isoformat()
    assert stone.removal.created_at <= now()


def test_the_pages_say_gone_at_every_address(run: tuple[AgentHttp, str, str, str], cast: Cast) -> None:
    _, run_id, here, gone = run
    addresses = {
        f"{method} {path.replace('<uuid:checkpoint_id>', gone)}"
        for path, (method, _) in PAGES.items()
        if "<uuid:checkpoint_id>" in path
    } | {
        f"get checkpoints/{here}/difference?with={gone}",
        f"get runs/{run_id}?checkpoint={gone}",
        f"get runs/{run_id}/live?checkpoint={gone}",
        f"get runs/{run_id}/history?old={gone}&new={here}",
        f"get runs/{run_id}/history?old={here}&new={gone}",
    }
    bob, dave = Client(), Client()
    bob.force_login(cast.bob.person)
    dave.force_login(cast.dave.person)
    stone = Tombstone.objects.get(pk=gone)
    for each in sorted(addresses):
        method, address = each.split(" ", 1)
        reply = getattr(bob, method)(f"/northwind/{address}")
        assert reply.status_code == 410, each
        page = reply.content.decode()
        assert stone.state_hash in page and f'href="/northwind/runs/{run_id}"' in page, each
        assert getattr(dave, method)(f"/northwind/{address}").status_code == 404, each
    assert len(addresses) >= 12
