"""A run that goes on faster than the page can ask: the page follows all the same, and asks one thing at a time."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.cast import Cast
from tests.driver import AgentHttp, call
from tests.e2e.desk import Visit, is_live

pytestmark = pytest.mark.django_db(transaction=True)
SLOWLY = """(ms) => {
  let open = 0; window.asked = 0; window.most = 0;
  const send = XMLHttpRequest.prototype.send, start = XMLHttpRequest.prototype.open;
  XMLHttpRequest.prototype.open = function (verb, url, ...more) {
    this.asks = url;
    return start.call(this, verb, url, ...more);
  };
  XMLHttpRequest.prototype.send = function (...given) {
    if (!this.asks.includes("/live")) return send.apply(this, given);
    window.asked += 1; open += 1; window.most = Math.max(window.most, open);
    this.addEventListener("readystatechange", () => { if (this.readyState === 4) open -= 1; });
    setTimeout(() => send.apply(this, given), ms);
  };
}"""
SLOW = 0.7  # seconds for an answer, on a machine that has other things to do
STEPS = 12


def test_a_page_that_is_told_more_often_than_it_is_answered_follows(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    run = agent.run(title="Ticket")["id"]
    page = visit(cast.bob, f"/northwind/runs/{run}")
    is_live(page)
    # Every answer takes longer than it takes until the page is told again, and only one may be on its way.
    page.evaluate(SLOWLY, SLOW * 1000)
    seen, parent = set[str](), None
    for number in range(STEPS):
        body = {"state": {"n": number}} | ({"parent": parent} if parent else {})
        parent = agent.post(f"/runs/{run}/checkpoints", body).ok(201)["id"]
        # An event beside each: the page is told of those at once.
        agent.post(f"/runs/{run}/observations", {"tool_calls": [did(number)]}).ok(201)
        seen.add(page.locator("#run-facts").inner_text())
        page.wait_for_timeout(300)
    expect(page.locator("#run-facts")).to_contain_text(f"{STEPS} checkpoints")
    asked, most = page.evaluate("[window.asked, window.most]")
    assert most == 1
    assert 2 < asked <= STEPS
    assert len(seen) > 2, "it followed while it was told"


def did(number: int) -> Any:
    return {**call("refund", f"c{number}"), "outcome": {"status": "succeeded"}}
