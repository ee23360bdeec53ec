"""Who asks: an agent by its key, or a person by their session. The rest of the API asks `caller_of`.

An agent's key says workspace, agent and environment. A person may belong to several workspaces: endpoints about one
thing take the membership of that thing's workspace (`caller_in`), lists take `?workspace=<slug>` or the header
`ReviewHub-Workspace`. Left out, it is the workspace that the person joined first: so nobody changes what a person's
scripts do by inviting them elsewhere.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib.auth import get_user
from django.db.models import Q
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from reviewhub.accounts.actors import actor_for, signed_in_at
from reviewhub.accounts.models import AgentKey, Member, Person
from reviewhub.accounts.permissions import AgentCaller, Caller, MemberCaller
from reviewhub.accounts.queries import joined_first, key_behind, memberships_in
from reviewhub.core.actors import Actor
from reviewhub.core.clock import DbNow
from reviewhub.core.errors import Forbidden, Invalid, NotFound

if TYPE_CHECKING:  # the views read these classes from the settings while they are being imported
    from rest_framework.views import APIView

CHALLENGE = 'Bearer realm="reviewhub"'
WORKSPACE_HEADER = "ReviewHub-Workspace"
_USED_EVERY = timedelta(minutes=1)


class PasswordChangeDue(Forbidden):
    """You signed in with a password made for you. Choose your own first."""

    code = "password_change_due"


@dataclass(frozen=True)
class Visitor:
    """A signed-in person before it is clear in which workspace they act."""

    person: Person
    memberships: tuple[Member, ...]
    slug: str = ""

    def caller(self) -> MemberCaller:
        """The membership that the request chose, or the one that the person had first.

        Raises:
            NotFound: no such workspace, or the person has no (active) membership there.
            Invalid: the request names no workspace, and the person is no more in the one that they joined first.
        """
        if self.slug:
            return self._of([one for one in self.memberships if one.workspace.slug == self.slug])
        first = joined_first(self.person)
        found = [one for one in self.memberships if one.pk == first]
        if self.memberships and not found:
            # Not another one in its place: a script would go on in it without a word.
            raise Invalid.at(
                "/workspace",
                "You are not in the workspace any more that you joined first; name another by its slug.",
                "missing",
            )
        return self._of(found)

    def caller_in(self, workspace_id: uuid.UUID) -> MemberCaller:
        """The membership of that workspace; NotFound without one, or when the request chose another workspace."""
        return self._of(
            [
                one
                for one in self.memberships
                if one.workspace_id == workspace_id and self.slug in ("", one.workspace.slug)
            ]
        )

    def _of(self, found: list[Member]) -> MemberCaller:
        if not found:
            raise NotFound()
        return MemberCaller(found[0])


class AgentKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer rh_…`. A header that holds no usable key is 401, whatever else the request carries."""

    def authenticate(self, request: Request) -> tuple[AgentCaller, AgentCaller] | None:
        """The caller, as user and as auth; None without the header."""
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        scheme, _, token = str(header).partition(" ")
        key = key_behind(token.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise AuthenticationFailed("This is not a key, or it was revoked.")
        _note_use(key)
        caller = AgentCaller(key=key, agent=key.agent)
        return caller, caller

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return CHALLENGE


class PersonAuthentication(SessionAuthentication):
    """The session of the pages, with Django's CSRF check on everything that writes."""

    def authenticate(self, request: Request) -> tuple[Person, Visitor] | None:
        """The person and their memberships; None without a session.

        Raises:
            PasswordChangeDue: the password is the one-time one of an invitation.
        """
        person = getattr(request._request, "user", None)
        if not isinstance(person, Person) or not person.is_active:
            return None
        # Django's request: the check looks for the token in a form, which the API's own request has no parser for.
        self.enforce_csrf(request._request)  # type: ignore[arg-type]
        if person.must_change_password:
            raise PasswordChangeDue()
        slug = request.query_params.get("workspace") or request.headers.get(WORKSPACE_HEADER) or ""
        memberships = memberships_in(person, signed_in_at(request._request.session))
        return person, Visitor(person=person, memberships=tuple(memberships), slug=slug)


def signed_in(request: Request) -> Person | None:
    """The person whose session the request carries, if they may sign in."""
    # Not `request.user`: an endpoint that takes no sessions has put nobody there by now.
    person = get_user(request._request)
    return person if isinstance(person, Person) and person.is_active else None


class KeyThrottle(SimpleRateThrottle):
    """So many requests a minute for each key (THROTTLE_AGENT); people are not counted."""

    scope = "agent"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """One counter for each key."""
        if isinstance(request.auth, AgentCaller):
            return f"throttle-key-{request.auth.key.pk}"
        return None


def caller_of(request: Request) -> Caller:
    """Who asks, in the workspace of the key or the one that the person chose.

    Raises:
        NotFound, Invalid: see `Visitor.caller`.
        AuthenticationFailed: nobody signed in (views without the permission check).
    """
    if isinstance(request.auth, AgentCaller):
        return request.auth
    if isinstance(request.auth, Visitor):
        return request.auth.caller()
    raise AuthenticationFailed()


def caller_in(request: Request, workspace_id: uuid.UUID) -> Caller:
    """Who asks, as far as they belong to the workspace of the thing at hand.

    Raises:
        NotFound: they do not.
        AuthenticationFailed: nobody signed in.
    """
    if isinstance(request.auth, Visitor):
        return request.auth.caller_in(workspace_id)
    caller = caller_of(request)
    if caller.workspace_id != workspace_id:
        raise NotFound()
    return caller


def actor_of(request: Request, caller: Caller | None = None) -> Actor:
    """The actor that the record names for this request; `caller` where it is known already."""
    return actor_for(
        caller or caller_of(request),
        source="api",
        ip=str(request.META.get("REMOTE_ADDR", "")),
        http_request=request.headers.get("X-Request-ID", ""),
        signed_in_at=signed_in_at(request.session),
    )


def key_is_known(token: str) -> bool:
    """Whether `token` is a usable key: what the server asks before it reads a body."""
    return key_behind(token) is not None


def _note_use(key: AgentKey) -> None:
    """Writes `last_used_at` at most once a minute: reading must not cost a write, and two at once cost one."""
    due = datetime.now(UTC) - _USED_EVERY
    if key.last_used_at is None or key.last_used_at < due:
        older = Q(last_used_at__isnull=True) | Q(last_used_at__lt=due)
        AgentKey.objects.filter(older, pk=key.pk).update(last_used_at=DbNow())
