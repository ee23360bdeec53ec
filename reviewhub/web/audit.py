"""The audit log: read only, newest first, with filters."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.http import HttpRequest, HttpResponse, QueryDict
from reviewhub_agents import canonical

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.accounts.queries import members_of
from reviewhub.audit.lag import lag
from reviewhub.audit.models import Event
from reviewhub.audit.proof import proof_of
from reviewhub.audit.queries import Filters, kind_names, list_events
from reviewhub.core.display import arguments
from reviewhub.core.errors import NotFound
from reviewhub.reviews.models import ReviewRequest
from reviewhub.web.access import page
from reviewhub.web.render import show

ICONS = {
    "request": "gate",
    "vote": "check",
    "call": "tool",
    "secret": "key",
    "run": "branch",
    "branch": "branch",
    "checkpoint": "branch",
    "policy": "shield",
    "tool": "tool",
    "person": "key",
    "member": "users",
    "team": "users",
    "agent": "bot",
    "key": "key",
}
TONES = {
    "decided": "accent",
    "failed": "bad",
    "denied": "bad",
    "unknown": "warn",
    "revoked": "warn",
    "stopped": "bad",
}
ACTORS = ("person", "agent", "policy", "timeout", "system")


@dataclass(frozen=True)
class Line:
    """One event of the list."""

    event: Event

    @property
    def icon(self) -> str:
        """By what it is about."""
        return ICONS.get(self.event.kind.partition(".")[0], "log")

    @property
    def tone(self) -> str:
        """By what happened."""
        verb = self.event.kind.partition(".")[2]
        return next((tone for word, tone in TONES.items() if word in verb), "")

    @property
    def day(self) -> str:
        """The day in UTC, for the group's heading."""
        at = self.event.at.astimezone(UTC)
        return f"{at.day} {at:%B %Y}, UTC"

    @property
    def leaf(self) -> str:
        """The event's own hash."""
        return bytes(self.event.leaf).hex()


@page(Action.AUDIT_READ)
def audit(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """One page of events; `?event=` opens one of them."""
    given = request.GET
    before = given.get("before", "")
    found = list_events(
        workspace_id=caller.workspace_id,
        filters=filters_of(given),
        before=int(before) if before.isascii() and before.isdecimal() and len(before) < 19 else None,
    )
    more = given.copy()
    more["before"] = str(found.before)
    opened = _opened(given.get("event", ""), caller)
    context = {
        "lines": [Line(event) for event in found.events],
        "given": given,
        "kinds": kind_names(),
        "actors": ACTORS,
        "members": members_of(caller.workspace_id),
        "more": more.urlencode() if found.before is not None else "",
        "is_first_page": not before,
        "narrows": any(
            given.get(name) for name in ("q", "kind", "actor", "who", "since", "until", "run", "request")
        ),
        "opened": opened,
        "body": _body(opened),
        "request_row": _request(opened),
        "lag": lag(caller.workspace_id),
        "proof": proof_of(opened.event) if opened else None,
        "query": _without(given, "event"),
    }
    return show(request, caller, "web/audit.html", context, nav="audit")


def filters_of(given: QueryDict) -> Filters:
    """What the page's address asks for; what cannot be read asks for nothing."""
    actor = given.get("actor", "")
    until = _day(given.get("until", ""))
    return Filters(
        text=given.get("q", "")[:200].strip(),
        kind=given.get("kind", "")[:60],
        actor_kind=actor if actor in ACTORS else "",
        actor_id=_uuid(given.get("who", "")),
        run_id=_uuid(given.get("run", "")),
        request_id=_uuid(given.get("request", "")),
        since=_day(given.get("since", "")),
        until=until + timedelta(days=1) if until else None,
    )


def _opened(text: str, caller: MemberCaller) -> Line | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise NotFound
    rows = Event.objects.select_related("payload").filter(pk=int(text), workspace_id=caller.workspace_id)
    found = rows.first()
    if found is None:
        raise NotFound
    return Line(found)


def _request(opened: Line | None) -> ReviewRequest | None:
    """The request that an event is about."""
    if opened is None or opened.event.request_id is None:
        return None
    return ReviewRequest.objects.filter(pk=opened.event.request_id).first()


def _body(opened: Line | None) -> arguments.Arguments | None:
    """What the event says, as rows; None for an erased one."""
    if opened is None or opened.event.payload.erased_at is not None:
        return None
    tree = canonical.reread(opened.event.payload.body)
    data = tree.get("data") if isinstance(tree, dict) else None
    return arguments.rows(canonical.dumps(data))


def _day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) if text else None
    except ValueError:
        return None


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        return None


def _without(given: QueryDict, name: str) -> str:
    rest = given.copy()
    rest.pop(name, None)
    return rest.urlencode()
