"""Pages show times in the zone of whoever reads them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from reviewhub.accounts.models import Person
from reviewhub.accounts.zone import note_zone, zone_of


class ReaderZone:
    """Middleware, behind the one that says who asks: while the answer is made, their zone is the current one.

    Before and after, and for whoever is not signed in, that is UTC: threads answer one person after the other. The API
    and what is exported stay in UTC; an export is written after its answer was made.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with timezone.override(_zone(request)):
            return self.get_response(request)


def _zone(request: HttpRequest) -> tzinfo:
    # Without a session nobody is signed in, and nobody has to be asked for.
    if request.path.startswith("/api/") or settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return UTC
    person = request.user
    if not isinstance(person, Person):
        return UTC
    note_zone(person, request.COOKIES)
    return zone_of(person, request.COOKIES)
