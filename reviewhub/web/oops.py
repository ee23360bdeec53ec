"""Errors as pages, with the same sentence that the API gives."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from reviewhub.accounts.permissions import Action, MemberCaller, is_for_teams, roles_for
from reviewhub.core.errors import Forbidden, Invalid, ReviewHubError
from reviewhub.web.render import show

HEADINGS = {
    400: "This cannot be read",
    403: "You may not do this",
    404: "There is no such page",
    409: "Somebody was faster",
    410: "This was removed",
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
    match = request.resolver_match
    if error.status == 410 and match is not None and "run" in error.extra:
        # The run is still there, and says what else was removed.
        context["back"] = f"/{match.kwargs['slug']}/runs/{error.extra['run']}"
        context["back_words"] = "Go to the run"
    return render(request, "web/error.html", context, status=error.status)


def refused(request: HttpRequest, caller: MemberCaller, action: Action, error: Forbidden) -> HttpResponse:
    """403 inside the shell: who may do it, so that one knows whom to ask. Only for what the caller may see."""
    text = _who_may(caller, action) if type(error) is Forbidden else error.message
    return show(request, caller, "web/refused.html", {"text": text}, status=403)


def _who_may(caller: MemberCaller, action: Action) -> str:
    role = caller.member.role
    names = [f"{one}s" for one in roles_for(action)]
    if role in roles_for(action) and is_for_teams(action):
        return "This is for members of the team that decides it, and you are in none of its teams."
    said = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    article = "an" if role[0] in "aeiou" else "a"
    return f"This is for {said}. You are {article} {role} in this workspace."
