"""Every HTTP request has an id: the record names it, and the answer gives it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from reviewhub.accounts.actors import is_request_id
from reviewhub.core.ids import uuid7

HEADER: Final = "X-Request-ID"
_META: Final = "HTTP_X_REQUEST_ID"


class RequestId:
    """Middleware: keeps the id that a proxy or a client gave, and makes one where none came that can be kept."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_request_id(request.META.get(_META, "")):
            request.META[_META] = uuid7().hex
        answer = self.get_response(request)
        answer[HEADER] = request.META[_META]
        return answer
