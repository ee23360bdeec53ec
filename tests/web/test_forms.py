"""What the forms of the pages refuse: characters that cannot be stored, and more text than the limit. All of them."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Member, SavedView, SignInFailure
from reviewhub.audit.models import Event
from reviewhub.core.models import IdempotencyKey
from reviewhub.reviews.models import Comment, Question, Review, ReviewRequest
from reviewhub.toolcalls.models import Decision, ToolCall
from tests.cast import PASSWORD, Cast
from tests.web.test_access import PAGES, address

As = Callable[[Member], Client]
NUL = "before\x00after"
KEPT = "These words were typed"

RULE = {
    "base": "0", "count": "1", "r0-name": "n", "r0-tool": "x", "r0-action": "require", "r0-approvals": "1",
    "r0-deny_threshold": "1", "r0-on_timeout": "deny", "r0-allowed": "approve",
}  # fmt: skip
TRY = {"try-agent": "support-triage", "try-tool": "x", "try-environment": "p", "try-arguments": "{}"}

# Address → who sends it, what else is sent, the field that shows what was typed, and the fields that hold text. A page
# that takes a POST and stands neither here nor below fails.
FORMS: dict[str, tuple[str, dict[str, str], str, tuple[str, ...]]] = {
    "queue/bulk": ("bob", {"type": "reject"}, "", ("message",)),
    "queue/bulk/send": ("bob", {"type": "reject", "key": "k", "pick": "PICK"}, "message", ("message", "key")),
    "requests/<int:number>/decide": (
        "bob",
        {"type": "reject", "version": "1", "digest": "DIGEST", "key": "k1"},
        "message",
        ("message", "note", "value", "raw", "confirm", "key", "digest", "f:/amount", "reason"),
    ),
    "requests/<int:number>/ask": ("bob", {}, "message", ("message",)),
    "requests/<int:number>/comment": ("bob", {}, "text", ("text",)),
    "requests/<int:number>/claim": ("bob", {}, "", ("back",)),
    "requests/<int:number>/reveal": ("bob", {}, "", ("reason",)),
    "requests/<int:number>/hand-over": ("bob", {}, "note", ("to", "note")),
    "requests/<int:number>/snooze": ("bob", {}, "", ("minutes",)),
    "post-review/batch": ("bob", {"verdict": "fine", "show": "drawn"}, "", ("pick", "verdict", "note", "key")),
    "post-review/take-back": ("bob", {}, "", ("pick",)),
    "post-review/<uuid:call_id>/grade": (
        "bob", {"verdict": "flagged", "severity": "low", "key": "k5", "show": "drawn"}, "note",
        ("note", "verdict", "severity", "follow_up", "key"),
    ),
    "post-review/<uuid:call_id>/follow-up": (
        "bob", {"follow_up": "notify", "key": "k6"}, "", ("follow_up", "note", "key"),
    ),
    "post-review/follow-ups/<uuid:follow_up_id>/close": ("bob", {}, "", ("note",)),
    "people/<uuid:member_id>/erase": ("alice", {}, "", ("again", "reason")),
    "reasons/change": ("alice", {"name": "n", "text": "Some words"}, "text", ("name", "text")),
    "runs/<uuid:run_id>/cancel": ("bob", {}, "reason", ("reason",)),
    "runs/<uuid:run_id>/halt": ("bob", {}, "reason", ("reason",)),
    "runs/<uuid:run_id>/resume": ("bob", {}, "", ("reason",)),
    "runs/<uuid:run_id>/limits": ("bob", {}, "reason", ("reason", "spend", "minutes")),
    "branches/<uuid:branch_id>/retry": ("bob", {}, "", ("reason",)),
    "checkpoints/<uuid:checkpoint_id>/fork": ("bob", {"key": "k2"}, "reason", ("reason", "key")),
    "checkpoints/<uuid:checkpoint_id>/rewrite": (
        "bob", {"do": "preview", "changes": "[]", "from": "0"}, "reason", ("reason", "at", "value", "changes", "path"),
    ),
    "checkpoints/<uuid:checkpoint_id>/fork/edit": (
        "bob", {"do": "preview", "changes": "[]", "from": "0"}, "reason",
        ("reason", "at", "value", "changes", "path", "branch"),
    ),
    "checkpoints/<uuid:checkpoint_id>/pin": ("bob", {}, "reason", ("reason",)),
    "runs/<uuid:run_id>/hold": ("carol", {}, "", ("reason",)),
    "runs/<uuid:run_id>/release": ("carol", {}, "", ("reason",)),
    "runs/<uuid:run_id>/plan/<int:version>/restore": (
        "bob", {"on": "1:x", "sure": "1", "key": "k3"}, "", ("reason", "key", "on"),
    ),
    "runs/<uuid:run_id>/plan/<int:version>/ask": ("bob", {"key": "k4"}, "", ("reason", "key")),
    "retention/rules": ("alice", {"base": "0", "thin_days": "7"}, "run_class", ("run_class", "agent", "thin_days")),
    "retention/erase": (
        "alice", {"on_behalf_of": "Kim", "again": "Kim"}, "reason", ("on_behalf_of", "again", "reason"),
    ),
    "agents/<uuid:agent_id>/budget/set": (
        "alice", {"field_bytes": "1", "step_bytes": "1"}, "fields", ("field_bytes", "step_bytes", "fields"),
    ),
    "agents/<uuid:agent_id>/states": ("alice", {}, "", ("validation",)),
    "policy/edit": ("alice", {**RULE, "do": "check"}, "note", ("note", "r0-name", "r0-tool", "r0-team")),
    "policy/publish": (
        "alice", {**RULE, **TRY, "do": "publish"}, "note", ("note", *RULE, *TRY),
    ),
    "policy/suggestions/take-up": ("alice", {}, "", ("key",)),
    "policy/roll-back": ("alice", {"number": "1", "base": "2"}, "", ("note", "number", "base")),
    "policy/draft/shadow": ("alice", {"do": "start"}, "", ("draft", "do")),
    "policy/draft/backtest": ("alice", {"days": "30"}, "", ("draft", "days")),
    "policy/draft/backtest/cancel": ("alice", {}, "", ("backtest",)),
    "policy/draft/discard": ("alice", {}, "", ("draft",)),
    "policy/draft/publish": ("alice", {}, "", ("draft", "note", "base")),
    "stand-ins/lend": ("bob", {}, "", ("to", "starts_at", "ends_at")),
    "stand-ins/end": ("bob", {}, "", ("delegation",)),
    "standing-approvals/<uuid:standing_id>/revoke": ("bob", {}, "reason", ("reason",)),
    "people/invite": ("alice", {"email": "new@example.com", "role": "reviewer"}, "name", ("name", "email", "teams")),
    "people/teams": ("alice", {}, "name", ("name",)),
    "people/<uuid:member_id>/change": ("alice", {"role": "reviewer"}, "", ("role", "teams")),
    "people/teams/<uuid:team_id>/rename": ("alice", {}, "name", ("name",)),
    "agents/<uuid:agent_id>/team": ("alice", {}, "", ("team",)),
    "agents/new": ("alice", {"name": "q", "team": "TEAM"}, "description", ("name", "team", "description", "graph")),
    "agents/<uuid:agent_id>/run": ("bob", {"input": "{}", "key": "k"}, "", ("title", "environment", "input")),
    "agents/<uuid:agent_id>/keys": ("alice", {"environment": "production"}, "name", ("name", "environment")),
    "agents/<uuid:agent_id>/stop": ("alice", {}, "reason", ("reason",)),
    "tools/<uuid:tool_id>/change": ("alice", {"risk": "high"}, "sentence", ("sentence", "risk")),
}  # fmt: skip
WITHOUT_TEXT = {
    "views/<uuid:view_id>/remove",
    "post-review/<uuid:call_id>/take-back",
    "post-review/follow-ups/<uuid:follow_up_id>/take-up",
    "requests/<int:number>/withdraw-vote",
    "checkpoints/<uuid:checkpoint_id>/unpin",
    "people/<uuid:member_id>/disable",
    "people/<uuid:member_id>/enable",
    "people/<uuid:member_id>/password",
    "agents/<uuid:agent_id>/start",
    "keys/<uuid:key_id>/rotate",
    "keys/<uuid:key_id>/revoke",
}
SAVE_A_VIEW = "views/save"
EACH = [(path, name) for path, (_, _, _, names) in FORMS.items() for name in names]
TEXTS = [(path, shown) for path, (_, _, shown, _) in FORMS.items() if shown]


def sent(path: str, ids: dict[str, Any], cast: Cast) -> dict[str, str]:
    row = ReviewRequest.objects.get(number=ids["<int:number>"])
    real = {"DIGEST": row.digest, "PICK": f"{row.number}:1:{row.digest}", "TEAM": str(cast.support.pk)}
    return {name: real.get(value, value) for name, value in FORMS[path][1].items()}


def stored() -> list[Any]:
    models = (Event, Comment, Question, Review, Decision, IdempotencyKey, SignInFailure)
    counts = [model.objects.count() for model in models]  # type: ignore[attr-defined]
    return [*counts, *ToolCall.objects.order_by("pk").values_list("state", "version")]


def test_every_form_has_its_line() -> None:
    posts = {path for path, (method, _) in PAGES.items() if method == "post"}
    both = {"policy/edit", "agents/<uuid:agent_id>/run"}
    both |= {f"checkpoints/<uuid:checkpoint_id>/{form}" for form in ("rewrite", "fork/edit")}
    assert posts | both == set(FORMS) | WITHOUT_TEXT | {SAVE_A_VIEW}


@pytest.mark.parametrize("name", ["name", "page", "query"])
def test_a_view_goes_back_to_its_page_with_why_it_was_refused(name: str, cast: Cast, as_: As) -> None:
    client = as_(cast.bob)
    given = {"page": "queue", "query": "risk=high", "name": "Mine", name: NUL}
    before = stored()
    answer = client.post(f"/northwind/{SAVE_A_VIEW}", given)
    assert answer.status_code == 302
    assert "U+0000 at position 6" in unescape(client.get(answer.headers["Location"]).content.decode())
    assert stored() == before and not SavedView.objects.exists()


@pytest.mark.parametrize(("path", "name"), EACH)
def test_no_form_takes_what_cannot_be_stored(
    path: str, name: str, cast: Cast, ids: dict[str, Any], as_: As
) -> None:
    who, _, shown, _ = FORMS[path]
    given = {**sent(path, ids, cast), **({shown: KEPT} if shown else {}), name: NUL}
    before = stored()
    answer = as_(cast.people[who]).post(address(path, ids), given)
    page = unescape(answer.content.decode())
    assert answer.status_code == 422, page[:300]
    assert "U+0000 at position 6" in page
    assert "\x00" not in page
    assert 'href="?' not in page, "the page stands at the form's address, which takes no GET"
    if shown:
        assert ("before\ufffdafter" if name == shown else KEPT) in page
    assert stored() == before


@pytest.mark.parametrize(("path", "name"), TEXTS)
def test_no_form_takes_more_text_than_the_limit(
    path: str, name: str, cast: Cast, ids: dict[str, Any], as_: As, settings: Any
) -> None:
    settings.LIMIT_TEXT_BYTES = 200
    typed = "é" * 101
    before = stored()
    answer = as_(cast.people[FORMS[path][0]]).post(address(path, ids), {**sent(path, ids, cast), name: typed})
    page = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert f"“{name}” has 202 bytes; the limit is 200." in page
    assert typed in page
    assert stored() == before


@pytest.mark.parametrize("name", ["raw", "value", "f:/amount"])
def test_arguments_are_longer_than_texts(
    name: str, cast: Cast, ids: dict[str, Any], as_: As, settings: Any
) -> None:
    settings.LIMIT_TEXT_BYTES, settings.LIMIT_ARGUMENTS_BYTES = 100, 200
    path = "requests/<int:number>/decide"
    given = {**sent(path, ids, cast), "type": "respond", "value": "short"}
    long = as_(cast.bob).post(address(path, ids), {**given, name: "x" * 201})
    assert long.status_code == 422
    assert "has 201 bytes; the limit is 200." in unescape(long.content.decode())
    assert as_(cast.bob).post(address(path, ids), {**given, name: "x" * 200}).status_code == 302


def test_lines_count_as_they_are_kept(cast: Cast, ids: dict[str, Any], as_: As, settings: Any) -> None:
    settings.LIMIT_TEXT_BYTES = 10
    path = address("requests/<int:number>/ask", ids)
    assert as_(cast.bob).post(path, {"message": "one\r\ntwo\r\n34"}).status_code == 302
    assert Question.objects.get().text == "one\ntwo\n34"


def test_halves_of_pairs_are_refused_too(cast: Cast, ids: dict[str, Any], as_: As) -> None:
    """A charset that the sender chooses can say what UTF-8 cannot."""
    body = '--x\r\nContent-Disposition: form-data; name="message"\r\n\r\nwhy \\ud800\r\n--x--\r\n'
    kind = "multipart/form-data; boundary=x; charset=raw_unicode_escape"
    path = address("requests/<int:number>/ask", ids)
    answer = as_(cast.bob).post(path, body.encode(), content_type=kind)
    assert answer.status_code == 422
    assert "U+D800" in answer.content.decode()
    assert not Question.objects.exists()


def test_names_of_fields_are_checked_too(cast: Cast, ids: dict[str, Any], as_: As) -> None:
    path = address("requests/<int:number>/comment", ids)
    answer = as_(cast.bob).post(path, {"text": "x", "na\x00me": "y"})
    assert answer.status_code == 422
    assert not Comment.objects.exists()


@pytest.mark.parametrize("name", ["email", "password", "next"])
def test_the_sign_in_page_refuses_them_too(name: str, bob: Member) -> None:
    before = stored()
    given = {"email": KEPT, "password": "x", name: NUL}
    answer = Client().post("/signin", given)
    page = unescape(answer.content.decode())
    assert (answer.status_code, f"“{name}” holds the character U+0000" in page) == (422, True)
    assert ("before\ufffdafter" if name == "email" else KEPT) in page
    assert stored() == before


@pytest.mark.parametrize("name", ["old", "new", "again", "theme", "zone"])
def test_the_account_page_refuses_them_too(name: str, bob: Member, as_: As) -> None:
    new = "purple monkey dishwasher 9"
    path = {"theme": "/account/look", "zone": "/account/zone"}.get(name, "/account/password")
    given = {"old": PASSWORD, "new": new, "again": new, name: new + "\x00"}
    answer = as_(bob).post(path, given)
    assert answer.status_code == 422
    assert f"“{name}” holds the character U+0000" in unescape(answer.content.decode())
    bob.person.refresh_from_db()
    assert bob.person.check_password(PASSWORD)


@pytest.mark.parametrize(
    ("path", "given", "said"),
    [
        ("requests/<int:number>/comment", {"text": " "}, "Write the comment first."),
        ("runs/<uuid:run_id>/cancel", {"reason": ""}, "Say why the run is cancelled"),
        ("agents/<uuid:agent_id>/stop", {"reason": ""}, "Say why the agent is stopped."),
        ("checkpoints/<uuid:checkpoint_id>/fork", {"reason": KEPT}, "printable ASCII characters"),
    ],
)
def test_what_is_missing_is_said_on_the_page_itself(
    path: str, given: dict[str, str], said: str, cast: Cast, ids: dict[str, Any], as_: As
) -> None:
    answer = as_(cast.people[FORMS[path][0]]).post(address(path, ids), given)
    page = unescape(answer.content.decode())
    assert (answer.status_code, said in page, 'id="main"' in page) == (422, True, True)
    assert 'class="oops"' not in page
    assert given.get("reason", "") in page


def test_an_address_is_checked_like_a_form(cast: Cast, as_: As) -> None:
    """Behind the server the address cannot hold it; a page must not depend on that."""
    assert as_(cast.bob).get("/northwind/queue", {"q": NUL}).status_code == 422
