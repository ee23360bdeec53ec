"""A reviewer in a real browser, for hours if need be: approves, edits, rejects, and says what happened to lost calls.

    python -m tests.chaos.person ADDRESS EMAIL EFFECTS

The password is in `REVIEWER_PASSWORD`. What became of a call whose outcome nobody knows is looked up in `EFFECTS`, the
file of the replay's world, as a person would look it up where the tool acts. Prints one JSON line for each decision
that the page confirmed. Ends when it is killed; a server that is away is waited for.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Error, Page, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
)
PATIENCE = 8_000  # milliseconds before a page is tried again


@dataclass
class Reviewer:
    """One person at one browser."""

    page: Page
    address: str
    email: str
    password: str
    effects: Path

    def work(self) -> None:
        """Decides the first request of the queue, for ever."""
        while True:
            try:
                self.next()
            except Error as error:
                print(f"again: {error.message.splitlines()[0]}", file=sys.stderr, flush=True)
                time.sleep(0.3)

    def next(self) -> None:
        """One look at the queue and, when something waits, one decision."""
        self.page.goto(f"{self.address}/demo/queue")
        if "/signin" in self.page.url:
            self.page.fill("#em", self.email)
            self.page.fill("#pw", self.password)
            self.page.click("main button[type=submit]")
            self.page.wait_for_url("**/demo/queue")
        first = self.page.locator(".list [data-group] .row__link").first
        if not first.count():
            time.sleep(0.2)
            return
        first.click()
        self.page.wait_for_url("**/requests/*")
        self.decide()

    def decide(self) -> None:
        """Answers the request on the page. Every number has its own dice, so a second try wants the same."""
        number = self.page.url.rpartition("/")[2]
        if self.page.get_by_text("Outcome unknown").count():
            wanted = self.say_what_happened()
        else:
            wanted = random.Random(number).choices(("approve", "edit", "reject"), (6, 2, 2))[0]
            getattr(self, wanted)()
        self.page.wait_for_selector("#outcome")
        print(json.dumps({"number": int(number), "type": wanted}), flush=True)

    def approve(self) -> None:
        """As proposed."""
        self.page.click("#decide-form button[type=submit]")
        self.confirm()

    def edit(self) -> None:
        """With another first value."""
        self.page.click("nav.modes a[href*='mode=edit']")
        field = self.page.locator("[name^='f:']").first
        field.fill("1" if field.get_attribute("inputmode") else f"{field.input_value()} (checked)")
        self.page.click("#decide-form button[type=submit]")
        self.confirm()

    def confirm(self) -> None:
        """Both steps: a call that must not run twice asks again."""
        self.page.locator("#outcome, #decide-form button:has-text('Approve and run')").first.wait_for()
        sure = self.page.locator("#decide-form button:has-text('Approve and run')")
        if sure.count():
            sure.click()

    def reject(self) -> None:
        """With words."""
        self.page.click("nav.modes a[href*='mode=reject']")
        self.page.fill("#n1", "The fare class does not allow it.")
        self.page.click("#decide-form button[type=submit]")

    def say_what_happened(self) -> str:
        """Looks into the world's own book."""
        mode = "happened" if self.acted() else "did_not_happen"
        self.page.goto(f"{self.page.url}?mode={mode}")
        self.page.fill("#n1", "Looked up in the book of effects.")
        self.page.click("#decide-form button[type=submit]")
        self.confirm()
        return mode

    def acted(self) -> bool:
        """Whether the call of this page changed the world."""
        number = int(self.page.url.rpartition("/")[2])
        items = self.page.request.get(f"{self.address}/api/v1/requests?state=pending").json()["items"]
        call = next((item["tool_call"] for item in items if item["number"] == number), None)
        if call is None:
            raise Error(f"request {number} waits no more")
        lines = [line for line in self.effects.read_text().splitlines() if '"act"' in line]
        return any(json.loads(line)["call"] == call for line in lines)


@contextmanager
def browser_page() -> Iterator[Page]:
    """A page of Debian's Chromium, silent towards the outside."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


if __name__ == "__main__":
    with browser_page() as one:
        address, email, effects = sys.argv[1:]
        Reviewer(one, address, email, os.environ["REVIEWER_PASSWORD"], Path(effects)).work()
