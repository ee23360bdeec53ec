"""Times where the reader is: a browser says its zone by itself, also of what comes live; without script it is UTC."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from reviewhub.accounts.models import Delegation, Person
from reviewhub.core import zones
from tests.cast import PASSWORD, Cast
from tests.driver import AgentHttp
from tests.e2e.desk import PATIENCE, Visit, ask, is_live

pytestmark = pytest.mark.django_db(transaction=True)


def title_of(page: Page, number: int) -> str:
    time = page.locator(f"#rq-{number}-due time")
    expect(time).to_be_attached(timeout=PATIENCE)
    return time.get_attribute("title") or ""


def test_from_the_first_page_on_times_are_those_of_the_browser(
    cast: Cast, agent: AgentHttp, server: str, browser: Browser
) -> None:
    row = ask(agent, deadline="PT1H")
    context = browser.new_context(timezone_id="Asia/Tokyo")
    page = context.new_page()
    page.goto(f"{server}/signin?next=/northwind/queue")
    page.fill("[name=email]", cast.bob.person.email)
    page.fill("[name=password]", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url("**/northwind/queue")
    assert title_of(page, row.number).endswith(" UTC+9, Asia/Tokyo")
    assert Person.objects.get(pk=cast.bob.person_id).zone == "Asia/Tokyo"
    context.close()


def test_two_people_see_the_same_live_row_each_in_their_zone(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    ask(agent, deadline="PT1H")
    seen = {"Asia/Tokyo": "UTC+9", "Pacific/Honolulu": "UTC-10"}
    pages = [
        visit(who, "/northwind/queue", timezone_id=zone)
        for who, zone in zip((cast.bob, cast.alice), seen, strict=True)
    ]
    for page in pages:
        is_live(page)
    row = ask(agent, deadline="PT1H")
    for page, (zone, offset) in zip(pages, seen.items(), strict=True):
        # Only the socket says so: the page itself was asked for before the browser had said its zone.
        assert title_of(page, row.number).endswith(f" {offset}, {zone}")


def test_without_script_and_without_a_choice_times_are_in_utc(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent, deadline="PT1H")
    page = visit(cast.bob, "/northwind/queue", java_script_enabled=False, timezone_id="Asia/Tokyo")
    page.reload()
    assert re.search(r", \d\d:\d\d:\d\d UTC$", title_of(page, row.number))


def test_a_time_is_typed_in_the_browsers_zone_and_a_choice_is_worth_more(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    page = visit(cast.bob, "/account", timezone_id="Asia/Tokyo")
    page.goto(page.url.replace("/account", "/northwind/stand-ins"))
    expect(page.locator("label[for=sa]")).to_contain_text("Asia/Tokyo")
    page.select_option("#to", str(cast.dave.pk))
    typed = page.input_value("#ea") or page.input_value("#sa")
    year = int(typed[:4]) + 1
    page.fill("#sa", f"{year}-01-05T09:15")
    page.fill("#ea", f"{year}-01-06T09:15")
    page.click("text=Let them vote")
    expect(page.locator("main")).to_contain_text(f"5 Jan {year}, 09:15:00 UTC+9")
    row = Delegation.objects.get()
    assert f"{zones.here(row.starts_at, zones.zone_called('Asia/Tokyo')):%H:%M}" == "09:15"
    page.goto(page.url.replace("/northwind/stand-ins", "/account"))
    page.select_option("#zone", "Europe/Berlin")
    page.locator("form[action='/account/zone'] button").click()
    expect(page.locator(".me")).to_contain_text("Europe/Berlin")
    page.goto(page.url.replace("/account", "/northwind/stand-ins"))
    expect(page.locator("main")).to_contain_text(f"5 Jan {year}, 01:15:00 UTC+1")
