"""What every form must be before a view reads it: text that can be stored, and no more of it than the limits."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.http import HttpRequest, QueryDict
from reviewhub_agents import canonical
from reviewhub_agents.canonical.values import storable

from reviewhub.core.errors import Invalid, ReviewHubError
from reviewhub.core.text import fault_of

# Arguments and answers, which may be as large as the API takes them; every other field is a text.
LARGE = frozenset({"raw", "value", "try-arguments", "changes"})
ARGUMENT = "f:"


def check_form(request: HttpRequest) -> None:
    """Looks at every field of the form and of the address, by name and value.

    Raises Invalid naming each field that holds U+0000 or half of a surrogate pair, or too much. What was sent stays in
    the request, with U+FFFD for such characters, so that the page can be shown again as it was filled in.
    """
    errors = [*_errors(request.GET), *_errors(request.POST)]
    if not errors:
        return
    request.GET, request.POST = _shown(request.GET), _shown(request.POST)  # type: ignore[assignment]
    raise Invalid(errors[0]["message"], errors=errors)


def text_in(request: HttpRequest, name: str) -> str:
    """A text of the form as it is kept: lines end in LF, no white space around it."""
    return _kept(str(request.POST.get(name, ""))).strip()


def words(error: ReviewHubError) -> list[str]:
    """The sentences of an error, for the top of a form."""
    return [each["message"] for each in getattr(error, "errors", [])] or [error.message]


def _errors(given: QueryDict) -> Iterator[dict[str, str]]:
    for name, values in given.lists():
        what = f"field “{storable(name)[:80]}”"
        for value in (name, *values):
            fault = fault_of(_kept(str(value)), limit=_limit(name), what=what)
            if fault is not None:
                yield {"path": canonical.pointer([name]), "code": fault.code, "message": fault.message}
                break


def _limit(name: str) -> int:
    is_large = name in LARGE or name.startswith(ARGUMENT)
    return settings.LIMIT_ARGUMENTS_BYTES if is_large else settings.LIMIT_TEXT_BYTES


def _kept(text: str) -> str:
    """Browsers send CR LF for every line end, which nobody typed."""
    return text.replace("\r\n", "\n")


def _shown(given: QueryDict) -> QueryDict:
    shown = QueryDict(mutable=True)
    for name, values in given.lists():
        shown.setlist(storable(name), [storable(str(value)) for value in values])
    return shown
