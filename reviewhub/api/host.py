"""The first question to every request: is it meant for us?"""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.utils.log import log_response
from django.views.defaults import bad_request

from reviewhub.api.problems import respond
from reviewhub.core.errors import ReviewHubError

logger = logging.getLogger(__name__)


class UnknownHost(ReviewHubError):
    """The Host header names no host of this installation (ALLOWED_HOSTS)."""

    code, status = "unknown_host", 400


class KnownHost:
    """Middleware: answers a request for a host that is not ours, before anything else reads it.

    Django would log a traceback each time, and anybody can send such requests all day.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
        except DisallowedHost as error:
            return _refused(request, error)
        return self.get_response(request)


def _refused(request: HttpRequest, error: DisallowedHost) -> HttpResponse:
    is_api = request.path.startswith("/api/")
    response = respond(UnknownHost()) if is_api else bad_request(request, error)
    # Logged here, with the host, instead of by Django's handler.
    log_response(
        "Unknown host %r: %s",
        request.META.get("HTTP_HOST", ""),
        request.path,
        response=response,
        request=request,
        logger=logger,
        level="warning",
    )
    return response
