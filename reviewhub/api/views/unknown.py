"""An address of the API that does not exist."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from reviewhub.api.problems import respond
from reviewhub.core.errors import NotFound

EXAMPLE = "0190a6b2-6f1c-7c3e-9d2a-3b1f0c5d7e42"


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    """404 in the form of every refusal."""
    return respond(NotFound("There is no such address in the API."))


@csrf_exempt
def not_an_id(request: HttpRequest, **given: str) -> HttpResponse:
    """404 for an address that would be one if its ids were ids."""
    odd = next((text for text in given.values() if not _is_id(text)), "")
    return respond(NotFound(f"“{odd[:60]}” is not an id. Ids are UUIDs in small letters: {EXAMPLE}"))


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
