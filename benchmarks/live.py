"""How long after its commit a new request is visible in a browser, while many other pages are connected.

    python benchmarks/live.py --postgresql postgresql://user@host:port --redis redis://host:port/7 \\
        [--clients 200] [--requests 200] [--chromium PATH]

`manage.py up` runs the product on a database of its own; without `--postgresql` on SQLite, with the broker in a folder.
So many reviewers, each a person of their own, have their queue open: their sockets are held here and read what they are
told. One more has it open in Chromium. An agent asks through the API, every half second once. A request counts as
committed when its row was written, some milliseconds before its commit; as visible when the page has drawn that
it is there. How long it took until the last of the other sockets was told stands beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BETWEEN = 0.5
SEEN = """() => {
    window.seen = {};
    const look = () => document.querySelectorAll("#fresh-rows > .row, .list [data-group] .row").forEach((row) => {
        if (row.id in window.seen) return;
        window.seen[row.id] = null;
        requestAnimationFrame(() => setTimeout(() => { window.seen[row.id] = Date.now(); }));
    });
    look();
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""


def main() -> None:
    """Measures and prints one row of a table."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--postgresql")
    given.add_argument("--redis", default="")
    given.add_argument("--clients", type=int, default=200)
    given.add_argument("--requests", type=int, default=200)
    given.add_argument("--chromium", default="chromium-headless-shell")
    options = given.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "agents")]
    # Playwright's loop runs in this thread, so Django takes every question of this process for one in a coroutine.
    os.environ |= {"DJANGO_ALLOW_ASYNC_UNSAFE": "1"}
    os.environ |= {"DJANGO_SETTINGS_MODULE": "reviewhub.settings", "REDIS_URL": options.redis}
    if options.postgresql:
        os.environ["DATABASE_URL"] = f"{options.postgresql}/postgres"
    with tempfile.TemporaryDirectory() as folder:
        measured(Path(folder), options)


def measured(folder: Path, options: argparse.Namespace) -> None:
    """Starts the product, plays, and says what it took."""
    from tests.ops.product import Product, environment, installed

    with installed(folder):
        os.environ |= environment(folder)
        import django

        django.setup()
        product = Product(folder, "--port", "0")
        try:
            product.wait_until_ready()
            seen, told = played(product.address, options)
        except BaseException:
            print(product.output[-3000:], file=sys.stderr)
            raise
        finally:
            from django.db import connection

            connection.close()
            product.end()
    where = "PostgreSQL + Redis" if options.postgresql else "SQLite"
    print("| committed to visible, ms | median | 99th percentile | slowest | the last socket, median |")
    print("|---|---|---|---|---|")
    figures = (statistics.median(seen), percentile(seen, 0.99), max(seen), statistics.median(told))
    print(f"| {where}, {options.clients} clients | {' | '.join(f'{one:.0f}' for one in figures)} |")


def played(address: str, options: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Milliseconds from the commit to the drawn page, and to the last of the other sockets, for each request."""
    from playwright.sync_api import sync_playwright

    from tests.cast import make_cast, make_test_agent

    cast = make_cast()
    _agent, _key, token = make_test_agent(cast.support)
    listeners = Listeners(address, sessions(cast, options.clients))
    listeners.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which(options.chromium), args=["--no-sandbox"]
        )
        context = browser.new_context()
        context.add_cookies([{"name": cookie(), "value": session_of(cast.bob.person), "url": address}])
        page = context.new_page()
        page.goto(f"{address}/northwind/queue")
        page.wait_for_function("document.querySelector('#live').textContent === 'Live'", timeout=120_000)
        page.evaluate(SEEN)
        committed = asked(address, token, options.requests)
        page.wait_for_timeout(2000)
        drawn: dict[str, Any] = page.evaluate("window.seen")
        browser.close()
    heard = listeners.stop()
    seen = [drawn[f"rq-{number}"] - at for number, at in committed.items()]
    return seen, [heard[number] - at for number, at in committed.items()]


def asked(address: str, token: str, count: int) -> dict[int, float]:
    """Asks so many times; when each request's row was written, by its number, in milliseconds of the clock."""
    import httpx

    from reviewhub.reviews.models import ReviewRequest

    agent = httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"})
    for place in range(count):
        began = agent.post("/runs", json={}, headers={"Idempotency-Key": f"r{place}"}).raise_for_status()
        call = {
            "call_id": "c1",
            "tool": "refund",
            "arguments": {"order_id": str(place), "amount": 40},
            "effect": "once",
        }
        body = {"checkpoint": {"state": {"n": place}}, "tool_calls": [call]}
        key = {"Idempotency-Key": f"p{place}"}
        agent.post(f"/runs/{began.json()['id']}/pauses", json=body, headers=key).raise_for_status()
        time.sleep(BETWEEN)
    rows = ReviewRequest.objects.values_list("number", "created_at")
    return {number: at.timestamp() * 1000 for number, at in rows}


class Listeners:
    """The other people's sockets, in a thread of their own."""

    def __init__(self, address: str, keys: list[str]) -> None:
        self._address, self._keys = address.replace("http", "ws", 1), keys
        self._heard: dict[int, float] = {}
        self._open = threading.Barrier(2)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._ending = threading.Event()

    def start(self) -> None:
        """Returns once all are connected and were told how things are."""
        self._thread.start()
        self._open.wait(120)

    def stop(self) -> dict[int, float]:
        """When the last of them was told of each request, by its number."""
        self._ending.set()
        self._thread.join(30)
        return self._heard

    async def _run(self) -> None:
        ready = [asyncio.Event() for _ in self._keys]
        tasks = [asyncio.create_task(self._one(key, one)) for key, one in zip(self._keys, ready, strict=True)]
        await asyncio.gather(*(one.wait() for one in ready))
        await asyncio.to_thread(self._open.wait)
        while not self._ending.is_set():
            await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, key: str, ready: asyncio.Event) -> None:
        from websockets.asyncio.client import connect

        headers = {"Cookie": f"{cookie()}={key}", "Origin": self._address.replace("ws", "http", 1)}
        async with connect(
            f"{self._address}/ws/northwind/queue?since=0", additional_headers=headers, max_size=None
        ) as socket:
            async for text in socket:
                now = time.time() * 1000
                ready.set()
                for number in re.findall(r'id="rq-(\d+)"', str(text)):
                    self._heard[int(number)] = max(self._heard.get(int(number), 0), now)


def sessions(cast: Any, count: int) -> list[str]:
    """Keys of the sessions of so many new reviewers of the team."""
    from reviewhub.accounts.models import Member, Person, Role

    keys = []
    for place in range(count):
        person = Person(email=f"p{place}@example.com", name=f"Reviewer {place}")
        person.set_unusable_password()
        person.save()
        made = Member.objects.create(workspace=cast.workspace, person=person, role=Role.REVIEWER)
        made.teams.add(cast.support)
        keys.append(session_of(person))
    return keys


def session_of(person: Any) -> str:
    """The key of a new session."""
    from django.test import Client

    browser = Client()
    browser.force_login(person)
    return browser.session.session_key or ""


def cookie() -> str:
    """The name of the session's cookie."""
    from django.conf import settings

    return str(settings.SESSION_COOKIE_NAME)


def percentile(found: list[float], share: float) -> float:
    """The value that so many of a hundred do not pass."""
    ordered = sorted(found)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


if __name__ == "__main__":
    main()
