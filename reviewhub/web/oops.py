"""Errors as pages, with the same sentence that the API gives."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from reviewhub.core.errors import Invalid, ReviewHubError

HEADINGS = {
    400: "This cannot be read",
    403: "You may not do this",
    404: "There is no such page",
    409: "Somebody was faster",
    422: "This is not allowed here",
    429: "Too many tries",
    503: "Not just now",
}


def oops(request: HttpRequest, error: ReviewHubError) -> HttpResponse:
    """The page for an error that a verb raised; never more than its sentence and facts."""
    facts = [(name.replace("_", " "), str(value)) for name, value in error.extra.items() if value is not None]
    if isinstance(error, Invalid):
        facts += [(each["path"] or "/", each["message"]) for each in error.errors]
    context = {
        "heading": HEADINGS.get(error.status, "Something broke here"),
        "text": error.message
        if error.status != 404
        else "It may belong to a workspace or team you are not in.",
        "facts": facts,
    }
    return render(request, "web/error.html", context, status=error.status)
