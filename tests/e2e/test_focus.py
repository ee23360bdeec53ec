"""A page that comes back with an error, a conflict or a message puts the focus there, and never loses it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from playwright.sync_api import Page, expect

from tests.cast import Cast, member
from tests.driver import AgentHttp, PersonHttp
from tests.e2e.desk import PATIENCE, Visit, ask, is_live
from tests.web.conftest import one_of_each
from tests.web.test_access import address
from tests.web.test_forms import FORMS, NUL, sent

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "document.querySelector('[name=csrfmiddlewaretoken]').value"
SEND = """([action, fields]) => {
  const form = Object.assign(document.createElement("form"), { method: "post", action });
  for (const [name, value] of Object.entries(fields))
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  form.submit();
}"""
# What has the focus, and whether it is what went wrong: the words themselves, or the field that says them.
AT = """() => {
  const at = document.activeElement;
  const words = (at.getAttribute("aria-describedby") || "").split(" ").map((id) => document.getElementById(id));
  // After a heading its page is read on.
  const said = [at.matches("h1") ? at.closest("main") : at, ...words].map((one) => one?.innerText || "").join(" ");
  const name = at === document.body ? "body" : at.outerHTML.slice(0, 200);
  return { name, said, seen: at.getClientRects().length > 0 };
}"""


def send(page: Page, path: str, fields: dict[str, str], token: str) -> dict[str, Any]:
    """Sends a form as a page would, and says where the focus is on what comes back."""
    with page.expect_navigation():
        page.evaluate(SEND, [path, {**fields, "csrfmiddlewaretoken": token}])
    found: dict[str, Any] = page.evaluate(AT)
    return found


def test_whatever_form_comes_back_with_an_error_has_the_focus_there(cast: Cast, visit: Visit) -> None:
    with transaction.atomic():
        ids = one_of_each(cast)
    pages = {who: visit(cast.people[who], "/account") for who in sorted({who for who, *_ in FORMS.values()})}
    tokens = {who: page.evaluate(TOKEN) for who, page in pages.items()}
    lost = {}
    for path, (who, _, _, names) in FORMS.items():
        fields = {**sent(path, ids, cast), names[0]: NUL}
        at = send(pages[who], address(path, ids), fields, tokens[who])
        # Another fault of the same form may stand before this one.
        says_what = "U+0000" in at["said"] or 'role="alert"' in at["name"]
        if at["name"] == "body" or not at["seen"] or not says_what:
            lost[path] = at["name"]
    assert not lost


def test_a_message_has_the_focus_and_letters_work_as_before(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row, other = ask(agent), ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}")
    page.click("#handing summary >> text=Put off")
    page.click("#handing button >> text=Put off")
    page.wait_for_url("**/queue*")
    expect(page.locator(".banner--ok")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("j")
    expect(page.locator(f"#rq-{other.number} .row__link")).to_be_focused()


def test_missing_words_take_the_focus_and_what_is_typed_goes_into_their_field(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=reject")
    page.evaluate(
        "document.querySelectorAll('#decide-form [required]').forEach((one) => { one.required = false; })"
    )
    page.click("#answer button[type=submit]")
    expect(page.locator("#form-errors")).to_be_focused()
    page.keyboard.type("because")
    expect(page.locator("#n1")).to_have_value("because")


def test_whoever_was_second_is_led_to_what_happened(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=reject")
    page.fill("#n1", "Not this one.")
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    body = {"type": "reject", "version": 1, "digest": row.digest, "message": "Not now."}
    fields = page.evaluate(
        "() => Object.fromEntries(new FormData(document.getElementById('decide-form')).entries())"
    )
    PersonHttp(erin).post(f"/requests/{row.pk}/decide", body).ok()
    at = send(page, f"/northwind/requests/{row.number}/decide", fields, page.evaluate(TOKEN))
    assert "was first" in at["said"]
    expect(page.locator("#conflict")).to_be_focused()


def test_a_page_for_which_there_is_nothing_says_so_first(cast: Cast, visit: Visit) -> None:
    page = visit(cast.bob, "/northwind/requests/999")
    expect(page.locator("h1")).to_be_focused()
    page.goto(page.url.replace("requests/999", "audit"))
    expect(page.locator("h1")).to_be_focused()


def test_what_comes_live_takes_the_focus_from_nobody(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=reject")
    is_live(page)
    page.focus("#n1")
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    body = {"type": "reject", "version": 1, "digest": row.digest, "message": "Not now."}
    PersonHttp(erin).post(f"/requests/{row.pk}/decide", body).ok()
    expect(page.locator("#live-banner .banner")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#n1")).to_be_focused()
