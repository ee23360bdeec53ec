"""One's own account: password, look, single-letter keys, time zone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from reviewhub.accounts.actors import signed_in_at
from reviewhub.accounts.change_password import change_password
from reviewhub.accounts.models import Person
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.accounts.queries import memberships_in
from reviewhub.accounts.zone import choose_zone, zone_of
from reviewhub.core.clock import now
from reviewhub.core.display.moments import offset
from reviewhub.core.errors import Invalid, SlowDown
from reviewhub.core.zones import here, known, name_of, zone_called
from reviewhub.web.access import posted
from reviewhub.web.forms import check_form
from reviewhub.web.oops import oops
from reviewhub.web.render import shell
from reviewhub.web.signin import way_on

REGIONS = frozenset(
    (
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Europe",
        "Indian",
        "Pacific",
    )
)
THEMES = (("", "As the system"), ("light", "Light"), ("dark", "Dark"))


@never_cache
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """The settings of whoever is signed in."""
    if not isinstance(request.user, Person):
        return redirect("/signin?next=/account")
    return _page(request, request.user)


@posted
def look(request: HttpRequest) -> HttpResponse:
    """Saves theme and keys."""
    person = request.user
    if not isinstance(person, Person):
        return redirect("/signin")
    try:
        check_form(request)
    except Invalid as error:
        return oops(request, error)
    theme = request.POST.get("theme", "")
    person.theme = theme if theme in {"", "light", "dark"} else ""
    person.single_keys = bool(request.POST.get("single_keys"))
    person.save(update_fields=["theme", "single_keys"])
    messages.success(request, "Saved.")
    return redirect("/account")


@posted
def zone(request: HttpRequest) -> HttpResponse:
    """Saves in which zone the reader sees times."""
    person = request.user
    if not isinstance(person, Person):
        return redirect("/signin")
    try:
        check_form(request)
        choose_zone(person, request.POST.get("zone", ""))
    except Invalid as error:
        return oops(request, error)
    messages.success(request, f"Saved. Your times are those of {name_of(zone_of(person, request.COOKIES))}.")
    return redirect("/account")


@posted
@sensitive_post_parameters("old", "new", "again")
def password(request: HttpRequest) -> HttpResponse:
    """Changes the password; this session stays, all others end."""
    person = request.user
    if not isinstance(person, Person):
        return redirect("/signin")
    given = request.POST
    try:
        check_form(request)
        if given.get("new") != given.get("again"):
            raise Invalid.at("/again", "The two new passwords differ.")
        change_password(
            person=person,
            old=given.get("old", ""),
            new=given.get("new", ""),
            address=request.META.get("REMOTE_ADDR", ""),
        )
    except Invalid as error:
        return _page(request, person, error.errors)
    except SlowDown as error:
        return _page(request, person, [{"path": "/old", "message": error.message}], error.status)
    update_session_auth_hash(request, person)
    messages.success(request, "Your password is changed. Every other session of yours has ended.")
    return redirect(way_on(request) or "/account")


def _page(
    request: HttpRequest, person: Person, errors: Sequence[Mapping[str, str]] = (), status: int = 422
) -> HttpResponse:
    """The account; `errors` say at which field of the password form."""
    memberships = memberships_in(person, signed_in_at(request.session))
    first, at = memberships[0] if memberships else None, now()
    context = {
        "nav": "account",
        "now": at,
        "themes": THEMES,
        "memberships": memberships,
        "errors": [(each["path"].strip("/"), each["message"]) for each in errors],
        "regions": _regions(at),
        "follows": name_of(zone_of(person, request.COOKIES)) if not person.zone_is_chosen else "",
        "member": first,
        "workspace": first.workspace if first else None,
        "shell": shell(MemberCaller(first)) if first else None,
        "must_change": person.must_change_password,
        "next": way_on(request) if person.must_change_password else "",
    }
    template = "web/new_password.html" if person.must_change_password or first is None else "web/account.html"
    return render(request, template, context, status=status if errors else 200)


def _regions(at: datetime) -> list[tuple[str, list[tuple[str, str]]]]:
    """The zones that can be chosen, by region: each with what it is called there and how far it is from UTC now.

    Zones that are named after no place are there for programs of old; whoever's browser says one keeps it.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(known()):
        region, _, place = name.partition("/")
        if region in REGIONS:
            words = place.replace("/", ", ").replace("_", " ")
            found.setdefault(region, []).append((name, f"{words}, {offset(here(at, zone_called(name)))}"))
    return list(found.items())
