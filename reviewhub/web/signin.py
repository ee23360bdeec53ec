"""Signing in and out."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from reviewhub.accounts.actors import mark_signed_in, signed_in_at
from reviewhub.accounts.models import Person
from reviewhub.accounts.queries import memberships_in
from reviewhub.accounts.sign_in import sign_in
from reviewhub.core.errors import ReviewHubError
from reviewhub.web.access import posted
from reviewhub.web.forms import check_form, words


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def signin(request: HttpRequest) -> HttpResponse:
    """The form, and what comes of it."""
    following = way_on(request)
    if request.method != "POST":
        return render(request, "web/signin.html", {"next": following})
    try:
        check_form(request)
        person = sign_in(
            email=request.POST.get("email", ""),
            password=request.POST.get("password", ""),
            address=request.META.get("REMOTE_ADDR", ""),
        )
    except ReviewHubError as error:
        email = request.POST.get("email", "")
        context = {"next": following, "email": email, "error": words(error)[0]}
        return render(request, "web/signin.html", context, status=error.status)
    login(request, person)
    mark_signed_in(request.session)
    if person.must_change_password:
        return redirect(f"/account?{urlencode({'next': following})}" if following else "/account")
    return redirect(following or "/")


def way_on(request: HttpRequest) -> str:
    """The page that somebody wanted when they were asked to sign in, if it is one of this site."""
    following = request.POST.get("next") or request.GET.get("next") or ""
    return following if url_has_allowed_host_and_scheme(following, allowed_hosts=None) else ""


@posted
def signout(request: HttpRequest) -> HttpResponse:
    """Ends the session; by POST only, so that no link and no picture can do it."""
    logout(request)
    return redirect("/signin")


@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """The start page of the first workspace one belongs to."""
    person = request.user
    if not isinstance(person, Person):
        return redirect("/signin")
    memberships = memberships_in(person, signed_in_at(request.session))
    if not memberships:
        logout(request)
        return redirect("/signin")
    return redirect(f"/{memberships[0].workspace.slug}/start")
