"""Who may open which page: every address of the pages, for every kind of visitor. An address missing here fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, resolve

from reviewhub.accounts.models import Member
from reviewhub.audit.models import Event
from reviewhub.web.urls import urlpatterns
from tests.cast import Cast

As = Callable[[Member], Client]
OPEN = {"", "signin", "signout", "account", "account/look", "account/zone", "account/password"}

# Address below the workspace → method, and what alice (admin, no team), bob (reviewer, own team), dave (reviewer, other
# team) and carol (manager) get. Mallory (other workspace) always gets 404. "ok" is anything that is no refusal.
PAGES: dict[str, tuple[str, str]] = {
    "": ("get", "ok ok ok ok"),
    "start": ("get", "ok ok ok ok"),
    "search": ("get", "ok ok ok ok"),
    "queue": ("get", "ok ok ok ok"),
    "queue/bulk": ("post", "ok ok ok ok"),
    "queue/bulk/send": ("post", "ok ok ok ok"),
    "views/save": ("post", "ok ok ok ok"),
    "views/counts": ("get", "ok ok ok ok"),
    "views/<uuid:view_id>/remove": ("post", "404 ok 404 404"),
    "requests/<int:number>": ("get", "ok ok 404 ok"),
    "requests/<int:number>/peek": ("get", "ok ok 404 ok"),
    "requests/<int:number>/policy": ("get", "ok ok 404 ok"),
    "requests/<int:number>/value": ("get", "ok ok 404 ok"),
    "requests/<int:number>/arguments": ("get", "ok ok 404 ok"),
    "requests/<int:number>/live": ("get", "ok ok 404 ok"),
    "requests/<int:number>/receipts": ("get", "ok ok 404 ok"),
    "requests/<int:number>/decide": ("post", "403 ok 404 403"),
    "requests/<int:number>/ask": ("post", "ok ok 404 ok"),
    "requests/<int:number>/comment": ("post", "ok ok 404 ok"),
    "requests/<int:number>/claim": ("post", "403 ok 404 403"),
    "requests/<int:number>/reveal": ("post", "403 ok 404 403"),
    "requests/<int:number>/withdraw-vote": ("post", "403 ok 404 403"),
    "requests/<int:number>/hand-over": ("post", "403 ok 404 403"),
    "requests/<int:number>/snooze": ("post", "ok ok 404 ok"),
    "post-review": ("get", "ok ok ok ok"),
    "post-review/batch": ("post", "ok ok ok ok"),
    "post-review/take-back": ("post", "ok ok ok ok"),
    "post-review/<uuid:call_id>": ("get", "ok ok 404 ok"),
    "post-review/<uuid:call_id>/grade": ("post", "ok ok 404 ok"),
    "post-review/<uuid:call_id>/follow-up": ("post", "ok ok 404 ok"),
    "post-review/<uuid:call_id>/take-back": ("post", "ok ok 404 ok"),
    "post-review/follow-ups/<uuid:follow_up_id>/close": ("post", "ok ok 404 ok"),
    "post-review/follow-ups/<uuid:follow_up_id>/take-up": ("post", "ok 403 403 403"),
    "runs": ("get", "ok ok ok ok"),
    "runs/<uuid:run_id>": ("get", "ok ok 404 ok"),
    "runs/<uuid:run_id>/live": ("get", "ok ok 404 ok"),
    "runs/<uuid:run_id>/cancel": ("post", "ok ok 404 403"),
    "runs/<uuid:run_id>/halt": ("post", "ok ok 404 403"),
    "runs/<uuid:run_id>/resume": ("post", "403 ok 404 403"),
    "runs/<uuid:run_id>/limits": ("post", "403 ok 404 403"),
    "branches/<uuid:branch_id>/retry": ("post", "403 ok 404 403"),
    "runs/<uuid:run_id>/history": ("get", "ok ok 404 ok"),
    "checkpoints/<uuid:checkpoint_id>": ("get", "ok ok 404 ok"),
    "checkpoints/<uuid:checkpoint_id>/difference": ("get", "ok ok 404 ok"),
    "checkpoints/<uuid:checkpoint_id>/trace": ("get", "ok ok 404 ok"),
    "runs/<uuid:run_id>/plan/<int:version>": ("get", "ok ok 404 ok"),
    "runs/<uuid:run_id>/plan/<int:version>/restore": ("post", "403 ok 404 403"),
    "runs/<uuid:run_id>/plan/<int:version>/ask": ("post", "403 ok 404 403"),
    "checkpoints/<uuid:checkpoint_id>/rewrite": ("get", "403 ok 404 403"),
    "checkpoints/<uuid:checkpoint_id>/fork": ("post", "403 ok 404 403"),
    "checkpoints/<uuid:checkpoint_id>/fork/edit": ("get", "403 ok 404 403"),
    "runs/<uuid:run_id>/hold": ("post", "ok 403 404 ok"),
    "runs/<uuid:run_id>/release": ("post", "ok 403 404 ok"),
    "checkpoints/<uuid:checkpoint_id>/pin": ("post", "ok ok 404 ok"),
    "checkpoints/<uuid:checkpoint_id>/unpin": ("post", "ok ok 404 ok"),
    "retention": ("get", "ok 403 403 ok"),
    "retention/rules": ("post", "ok 403 403 403"),
    "retention/erase": ("post", "ok 403 403 403"),
    "audit": ("get", "ok 403 403 ok"),
    "audit/runs/<uuid:run_id>": ("get", "ok 403 403 ok"),
    "audit/people/<uuid:member_id>": ("get", "ok 403 403 ok"),
    "audit/export": ("get", "ok 403 403 ok"),
    "audit/export/<uuid:export_id>": ("get", "ok 403 403 ok"),
    "audit/<int:event>/proof": ("get", "ok 403 403 ok"),
    "audit/verify_audit.py": ("get", "ok 403 403 ok"),
    "insights": ("get", "ok 403 403 ok"),
    "insights/<slug:name>.csv": ("get", "ok 403 403 ok"),
    "policy": ("get", "ok ok ok ok"),
    "policy/edit": ("get", "ok 403 403 403"),
    "policy/publish": ("post", "ok 403 403 403"),
    "policy/suggestions": ("get", "ok 403 403 403"),
    "policy/suggestions/take-up": ("post", "404 403 403 403"),
    "policy/roll-back": ("post", "404 403 403 403"),
    "policy/draft": ("get", "ok 403 403 403"),
    "policy/draft/shadow": ("post", "ok 403 403 403"),
    "policy/draft/backtest": ("post", "ok 403 403 403"),
    "policy/draft/backtest/progress": ("get", "ok 403 403 403"),
    "policy/draft/backtest/cancel": ("post", "ok 403 403 403"),
    "policy/draft/discard": ("post", "ok 403 403 403"),
    "policy/draft/publish": ("post", "ok 403 403 403"),
    "policy/<int:number>": ("get", "404 404 404 404"),
    "reasons": ("get", "ok ok ok ok"),
    "reasons/change": ("post", "ok 403 403 403"),
    "standing-approvals": ("get", "ok ok ok ok"),
    "standing-approvals/<uuid:standing_id>/revoke": ("post", "ok ok 404 403"),
    "people": ("get", "ok 403 403 ok"),
    "people/invite": ("post", "ok 403 403 403"),
    "people/teams": ("post", "ok 403 403 403"),
    "people/teams/<uuid:team_id>/rename": ("post", "ok 403 403 403"),
    "people/<uuid:member_id>/change": ("post", "ok 403 403 403"),
    "people/<uuid:member_id>/disable": ("post", "ok 403 403 403"),
    "people/<uuid:member_id>/enable": ("post", "ok 403 403 403"),
    "people/<uuid:member_id>/password": ("post", "ok 403 403 403"),
    "people/<uuid:member_id>/data": ("get", "ok 403 403 403"),
    "people/<uuid:member_id>/erase": ("post", "ok 403 403 403"),
    "my-data": ("get", "ok ok ok ok"),
    "retention/person-data": ("get", "ok 403 403 403"),
    "stand-ins": ("get", "ok ok ok 403"),
    "stand-ins/lend": ("post", "ok ok ok 403"),
    "stand-ins/end": ("post", "ok ok ok 403"),
    "agents": ("get", "ok ok ok ok"),
    "agents/new": ("post", "ok 403 403 403"),
    "agents/<uuid:agent_id>/budget": ("get", "ok ok 404 ok"),
    "agents/<uuid:agent_id>/budget/set": ("post", "ok 403 404 403"),
    "agents/<uuid:agent_id>/run": ("get", "403 ok 404 403"),
    "agents/<uuid:agent_id>/goodput": ("get", "ok ok 404 ok"),
    "agents/<uuid:agent_id>/keys": ("post", "ok 403 404 403"),
    "agents/<uuid:agent_id>/stop": ("post", "ok 403 404 403"),
    "agents/<uuid:agent_id>/start": ("post", "ok 403 404 403"),
    "agents/<uuid:agent_id>/team": ("post", "ok 403 404 403"),
    "agents/<uuid:agent_id>/states": ("post", "ok 403 404 403"),
    "keys/<uuid:key_id>/rotate": ("post", "ok 403 404 403"),
    "keys/<uuid:key_id>/revoke": ("post", "ok 403 404 403"),
    "tools": ("get", "ok ok ok ok"),
    "tools/<uuid:tool_id>/change": ("post", "ok 403 404 403"),
    "tools/<uuid:tool_id>/sentence": ("get", "ok 403 404 403"),
}


def address(path: str, ids: dict[str, Any]) -> str:
    for name, value in ids.items():
        path = path.replace(name, str(99 if path.startswith("policy/") else value))
    return f"/northwind/{path}"


def routes() -> set[str]:
    return {str(one.pattern) for one in urlpatterns if isinstance(one, URLPattern)}


def test_every_address_has_its_line() -> None:
    assert {route.removeprefix("<slug:slug>/") for route in routes()} == OPEN | set(PAGES)


@pytest.mark.parametrize("path", PAGES)
def test_who_may(path: str, cast: Cast, ids: dict[str, Any], as_: As) -> None:
    method, expected = PAGES[path]
    where = address(path, ids)
    # The refused go first: whoever may do it changes things.
    wanted = {"mallory": "404", **dict(zip(("alice", "bob", "dave", "carol"), expected.split(), strict=True))}
    for name in sorted(wanted, key=lambda one: wanted[one] == "ok"):
        status = getattr(as_(cast.people[name]), method)(where).status_code
        if wanted[name] == "ok":
            assert status in (200, 302, 404, 409, 422) or status == 500 and "checkpoints" in path, (
                name,
                status,
            )
            assert not (status == 404 and "value" not in path), (name, status)
        else:
            assert status == int(wanted[name]), (name, status)
        if wanted[name] == "ok" and method == "post":
            break
    assert getattr(Client(), method)(where).headers["Location"].startswith("/signin")


@pytest.mark.parametrize("path", [path for path, (method, _) in PAGES.items() if method == "post"])
def test_b48_what_changes_something_takes_a_post(path: str, cast: Cast, ids: dict[str, Any], as_: As) -> None:
    client, where = as_(cast.bob), address(path, ids)
    for answer in (client.get(where), client.head(where)):
        # A tab that is restored, or an address that is typed, gets a page: the form's, or the nearest above.
        assert answer.status_code == 302 and where.startswith(answer.headers["Location"])
        assert not hasattr(resolve(answer.headers["Location"]).func, "takes_posts_only")


FORMS = {
    "agents/<uuid:agent_id>/run",
    "policy/edit",
    "checkpoints/<uuid:checkpoint_id>/rewrite",
    "checkpoints/<uuid:checkpoint_id>/fork/edit",
}
"""Addresses that show a form and take it."""


@pytest.mark.parametrize("path", PAGES)
def test_b40_what_is_only_read_takes_nothing(path: str, cast: Cast, ids: dict[str, Any], as_: As) -> None:
    """Also of an admin: no page changes or removes what it shows, the record least of all; the server logs the try."""
    client, where = as_(cast.alice), address(path, ids)
    before = Event.objects.count()
    refused = ["put", "patch", "delete", *["post"] * (PAGES[path][0] == "get" and path not in FORMS)]
    for method in refused:
        assert getattr(client, method)(where, "{}", content_type="application/json").status_code == 405, (
            method
        )
    assert Event.objects.count() == before
