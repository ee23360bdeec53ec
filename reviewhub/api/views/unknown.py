"""An address of the API that does not exist."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from reviewhub.api.problems import respond
from reviewhub.core.errors import NotFound


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    """404 in the form of every refusal."""
    return respond(NotFound("There is no such address in the API."))
