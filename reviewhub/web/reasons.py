"""The reasons for rejections: read by everybody who answers, preset by admins."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.errors import Invalid
from reviewhub.reviews.reasons import reasons_of
from reviewhub.reviews.set_reasons import MOST, set_reasons
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import words
from reviewhub.web.render import may, show

SPARE = 3


@require_safe
@page(Action.QUEUE_READ)
def reasons(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """All reasons with what the agent is told."""
    kept = [(one.name, one.text) for one in reasons_of(caller.workspace_id)]
    return _page(request, caller, kept)


def _page(
    request: HttpRequest,
    caller: MemberCaller,
    lines: list[tuple[str, str]],
    *,
    errors: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    spare = max(0, min(SPARE, MOST - len(lines)))
    context: dict[str, Any] = {
        "lines": lines,
        "all_lines": [*lines, *[("", "")] * spare],
        "may_edit": may(caller, Action.POLICY_EDIT),
        "errors": errors or [],
    }
    return show(request, caller, "web/reasons.html", context, nav="policy", status=status)


def _again(request: HttpRequest, caller: MemberCaller, error: Invalid) -> HttpResponse:
    return _page(request, caller, _lines(request.POST), errors=words(error), status=error.status)


@posted
@page(Action.POLICY_EDIT, again=_again)
def change(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Sets all of them; a line without a name and without words goes."""
    lines = _lines(request.POST)
    if len(dict(lines)) < len(lines):
        raise Invalid.at("/name", "Two reasons have the same name.")
    set_reasons(workspace=caller.member.workspace, reasons=dict(lines), actor=actor(request, caller))
    messages.success(request, "The reasons are set, from the next rejection on.")
    return redirect(f"/{caller.member.workspace.slug}/reasons")


def _lines(given: QueryDict) -> list[tuple[str, str]]:
    pairs = zip(given.getlist("name"), given.getlist("text"), strict=False)
    kept = ((name.strip(), text.replace("\r\n", "\n").strip()) for name, text in pairs)
    return [(name, text) for name, text in kept if name or text]
