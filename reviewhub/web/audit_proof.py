"""What proves the record, to take along: exports, the proof of one event, the verifier, and receipts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from reviewhub_agents import verify_audit, wire

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.audit.export import Bundle, export_one, export_range, export_selection
from reviewhub.gates.receipts import receipts_of
from reviewhub.reviews.models import ReviewRequest
from reviewhub.web.access import actor, page
from reviewhub.web.audit import filters_of
from reviewhub.web.review import find

VERIFIER: Final = Path(verify_audit.__file__)
CHOOSING: Final = ("q", "kind", "actor", "who", "run", "request")


@page(Action.AUDIT_READ)
def export(request: HttpRequest, caller: MemberCaller) -> HttpResponseBase:
    """The sealed record of the days that the filters of the page name; with another filter, the events that fit."""
    filters = filters_of(request.GET)
    chosen = {name: value for name in CHOOSING if (value := request.GET.get(name, "").strip())}
    who = actor(request, caller)
    with transaction.atomic():
        if not chosen:
            bundle = export_range(
                workspace_id=caller.workspace_id, actor=who, since=filters.since, until=filters.until
            )
        else:
            days = {name: request.GET[name] for name in ("since", "until") if request.GET.get(name)}
            words = ", ".join(f"{name} {value[:200]}" for name, value in {**chosen, **days}.items())
            bundle = export_selection(
                workspace_id=caller.workspace_id, actor=who, filters=filters, words=words
            )
    return _download(bundle)


@page(Action.AUDIT_READ)
def proof(request: HttpRequest, caller: MemberCaller, event: int) -> HttpResponseBase:
    """One event with the path to the signed root of its seal."""
    with transaction.atomic():
        bundle = export_one(
            workspace_id=caller.workspace_id,
            actor=actor(request, caller),
            event_id=min(event, 2**63 - 1),
        )
    return _download(bundle)


@page(Action.AUDIT_READ)
def verifier(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The program that checks an export, as it is in this version."""
    answer = HttpResponse(VERIFIER.read_bytes(), content_type="text/x-python; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{VERIFIER.name}"'
    return answer


@page(Action.REQUEST_READ, of=find)
def receipts(request: HttpRequest, caller: MemberCaller, row: ReviewRequest) -> HttpResponse:
    """The receipts of a request's call."""
    made = wire.ReceiptList(items=receipts_of(row.tool_call))
    answer = HttpResponse(made.to_text(), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="receipts-{row.number}.json"'
    return answer


def _download(bundle: Bundle) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(bundle.lines, content_type="application/jsonl")
    answer["Content-Disposition"] = f'attachment; filename="{bundle.name}"'
    return answer
