"""Text that an agent or an admin chose never widens a page: names, claims, words, values."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from reviewhub.accounts.models import Agent, Team
from reviewhub.reviews.models import ReviewRequest
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.e2e.desk import Visit

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "W" * 118
WORDS = {
    "plain": "x" * 60_000,
    "lookalike": "a\u0430" * 15_000,
    "hidden": "\u200b" * 20_000,
    "spaces": "a  " * 20_000,
}


def hostile(cast: Cast, word: str) -> tuple[ReviewRequest, AgentHttp]:
    """One request in which every text that somebody else chose is one long unbroken word."""
    Team.objects.filter(pk=cast.support.pk).update(name=NAME)
    cast.bob.person.name = NAME
    cast.bob.person.save()
    cast.support.refresh_from_db()
    agent = agent_of(cast.support, name=NAME)
    Agent.objects.filter(name=NAME).update(description=NAME * 10)
    run = agent.run(title=NAME, external_id=NAME, on_behalf_of=NAME)["id"]
    state = {
        "messages": [
            {"role": "user", "content": word[:3000]},
            {"role": NAME[:40], "content": "hi", "tool_calls": [{"name": NAME}]},
        ],
        NAME: word,
    }
    asked = call(
        tool=NAME + NAME[:70],
        arguments={NAME: word, "url": f"https://example.com/{word[:3000]}", "n": 5},
        reason=word,
        checks=[
            {"name": NAME, "status": "failed", "detail": word[:3000]},
            {"name": "b", "status": "passed", "detail": NAME},
        ],
        evidence=[{"title": NAME, "text": word, "url": f"https://example.com/{NAME * 10}"}],
        facts={NAME: word[:3000]},
        labels={NAME[:40]: NAME},
    )
    steps = [{"id": NAME[:99], "title": word[:400], "steps": [{"id": "b", "title": NAME}]}]
    plan = {"steps": steps, "assumptions": [{"id": NAME[:99], "text": word[:9000]}]}
    agent.post(f"/runs/{run}/plans", plan).ok(201)
    mark = {"step": NAME[:99], "status": "running", "note": word[:9000]}
    agent.post(f"/runs/{run}/plans/1/marks", {"marks": [mark]}).ok()
    why = {"kind": "contradicted", "assumption": NAME[:99], "text": word[:9000]}
    agent.post(f"/runs/{run}/plans", {"steps": [{"id": "b", "title": word[:400]}], "why": why}).ok(201)
    agent.put(f"/states/{NAME}/1", {"schema": {"type": "object"}}).ok(200, 201)
    paused = agent.pause(run, asked, checkpoint={"state": state, "node": NAME[:100]}).ok()
    row = ReviewRequest.objects.get(pk=paused["tool_calls"][0]["request"]["id"])
    bob = PersonHttp(cast.bob)
    bob.post(f"/requests/{row.pk}/comment", {"text": word[:8000]}).ok(200, 201)
    bob.post(f"/requests/{row.pk}/ask", {"text": word[:8000]}).ok(200, 201)
    bob.post(f"/requests/{row.pk}/claim", {}).ok()
    return row, agent


def too_wide(page: Page) -> Any:
    """By how much the page is wider than the window, and what stands out."""
    return page.evaluate(
        """() => {
          const wide = document.documentElement.scrollWidth - innerWidth;
          if (wide <= 0) return null;
          const clips = (e) => { for (let p = e.parentElement; p; p = p.parentElement)
            if (getComputedStyle(p).overflowX !== 'visible') return true; return false; };
          const out = [...document.querySelectorAll('body *')]
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !clips(e))
            .map((e) => `${e.parentElement.className} > ${e.tagName}.${e.className}`).slice(0, 12);
          return [wide, out];
        }"""
    )


@pytest.mark.parametrize(("width", "word"), [(1280, "plain"), (390, "plain"), (390, "hidden")])
def test_no_text_widens_a_page(cast: Cast, visit: Visit, width: int, word: str) -> None:
    row, _ = hostile(cast, WORDS[word])
    at = f"/northwind/requests/{row.number}"
    page = visit(cast.alice, "/northwind/queue", viewport={"width": width, "height": 844})
    server = page.url.split("/northwind")[0]
    found: dict[str, Any] = {}
    for path in (
        "/northwind/queue", at, f"{at}?mode=edit", f"{at}?mode=edit&json=1", f"{at}?mode=reject",
        f"{at}/value?of=claims&path=/reason",
        f"/northwind/runs/{row.run_id}",
        f"/northwind/runs/{row.run_id}/plan/1?with=2", "/northwind/runs", "/northwind/audit", "/northwind/agents",
        f"/northwind/agents/{row.agent_id}/budget",
        "/northwind/people", "/northwind/tools", "/northwind/policy", "/northwind/policy/edit", "/account",
        "/northwind/audit?kind=request.opened", f"/northwind/audit/runs/{row.run_id}",
        f"/northwind/audit/people/{cast.bob.pk}", "/northwind/nothing",
    ):  # fmt: skip
        page.goto(server + path)
        if wide := too_wide(page):
            found[path] = wide
    assert not found, "\n".join(f"{path}: {said}" for path, said in found.items())
