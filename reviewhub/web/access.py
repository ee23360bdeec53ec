"""The door of every page: who asks, in which workspace, and whether they may.

A view decorated with `page` is only entered by a member that may do its action; everybody else gets the sign-in page,
403, or (for what they may not even see) 404.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, overload
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from django.views.decorators.cache import never_cache

from reviewhub.accounts.actors import actor_for, signed_in_at
from reviewhub.accounts.models import Member, Person
from reviewhub.accounts.permissions import Action, MemberCaller, Target, require
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Forbidden, Invalid, NotFound, ReviewHubError
from reviewhub.core.rows import one_or_none
from reviewhub.web.forms import check_form
from reviewhub.web.oops import oops, refused

T = TypeVar("T")
View = Callable[..., HttpResponseBase]
Again = Callable[..., HttpResponse]


class SessionEnded(Exception):
    """The session does not count in this workspace any more."""


def enter(person: Person, slug: str, signed_in_at: datetime | None) -> MemberCaller:
    """The person as a member of the workspace, in a session in which they last showed their password then.

    Raises:
        SessionEnded: they were disabled here since.
        NotFound: they are no member.
    """
    members = Member.objects.select_related("workspace", "person")
    member = one_or_none(members.filter(workspace__slug=slug, person=person))
    if member is not None and not member.takes(signed_in_at):
        raise SessionEnded
    if member is None or not member.is_active:
        raise NotFound
    return MemberCaller(member)


@overload
def page(action: Action, *, again: Again | None = None, is_form: bool = False) -> Callable[[View], View]: ...
@overload
def page(
    action: Action,
    of: Callable[..., tuple[T, Target]],
    *,
    again: Again | None = None,
    is_form: bool = False,
) -> Callable[[View], View]: ...
def page(
    action: Action,
    of: Callable[..., tuple[Any, Target]] | None = None,
    *,
    again: Again | None = None,
    is_form: bool = False,
) -> Callable[[View], View]:
    """Makes a view of `view(request, caller, …)`. It is only read (405 for whatever is sent to it), unless it is
    `posted` or a form of its own.

    Args:
        action: what the visitor must be allowed to do; asked once, before the view.
        of: loads the thing that the address names, with its Target; the view gets the thing. Without it the target is
            the workspace, and the view gets what the address holds.
        again: shows the form again as it was filled in, for what the view (or `check_form`, before it) finds invalid:
            `again(request, caller, [thing,] error)`. Without it that is a page of its own.
        is_form: the same address shows the form and takes it.
    """

    def wrap(view: View) -> View:
        def filled(request: HttpRequest, caller: MemberCaller, *thing: Any, **rest: Any) -> HttpResponseBase:
            try:
                check_form(request)
                return view(request, caller, *thing, **rest)
            except Invalid as error:
                if again is None:
                    raise
                return again(request, caller, *thing, error)

        @never_cache
        @functools.wraps(view)
        def run(request: HttpRequest, slug: str, **rest: Any) -> HttpResponseBase:
            person = request.user
            takes_posts = is_form or hasattr(run, "is_posted")
            if request.method not in ("GET", "HEAD") and not (takes_posts and request.method == "POST"):
                return HttpResponseNotAllowed(["GET", "HEAD", *["POST"] * takes_posts])
            if not isinstance(person, Person):
                return _to_sign_in(request)
            if person.must_change_password:
                return redirect(f"/account?next={quote(request.get_full_path())}")
            caller: MemberCaller | None = None
            try:
                caller = enter(person, slug, signed_in_at(request.session))
                if of is None:
                    require(caller, action, Target(workspace_id=caller.workspace_id))
                    return filled(request, caller, **rest)
                thing, target = of(caller, **rest)
                require(caller, action, target)
                return filled(request, caller, thing)
            except SessionEnded:
                return _to_sign_in(request)
            except Forbidden as error:
                return refused(request, caller, action, error) if caller else oops(request, error)
            except ReviewHubError as error:
                return oops(request, error)

        run.may = action  # type: ignore[attr-defined]
        return run

    return wrap


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    return redirect(f"/signin?next={quote(request.get_full_path())}")


def posted(view: View) -> View:
    """Makes a view answer POST only. Whoever comes by GET (a tab that is restored, an address that is typed) gets the
    nearest page above, which is the form's."""

    @functools.wraps(view)
    def run(request: HttpRequest, **rest: Any) -> HttpResponseBase:
        if request.method in ("GET", "HEAD"):
            return redirect(_page_above(request.path))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return view(request, **rest)

    view.is_posted = True  # type: ignore[attr-defined]
    run.takes_posts_only = True  # type: ignore[attr-defined]
    return run


def _page_above(path: str) -> str:
    while path := path.rpartition("/")[0]:
        for above in (path, f"{path}/"):
            try:
                view = resolve(above).func
            except Resolver404:
                continue
            if not hasattr(view, "takes_posts_only"):
                return above
    return "/"


def actor(request: HttpRequest, caller: MemberCaller) -> Actor:
    """The member as whoever does something on a page."""
    ip = request.META.get("REMOTE_ADDR", "")
    return actor_for(
        caller,
        source="page",
        ip=ip,
        http_request=request.headers.get("X-Request-ID", ""),
        signed_in_at=signed_in_at(request.session),
    )
