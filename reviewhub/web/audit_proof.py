"""What proves the record, to take along: exports, the proof of one event, the verifier, and receipts."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Final

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from reviewhub_agents import verify_audit, wire

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.audit.export import Bundle, export_one, export_range, export_selection
from reviewhub.audit.models import Export
from reviewhub.audit.plain import export_plain
from reviewhub.audit.progress import noted
from reviewhub.checkpoints.exported import NamedStates
from reviewhub.gates.receipts import receipts_of
from reviewhub.reviews.models import ReviewRequest
from reviewhub.web.access import actor, page
from reviewhub.web.audit_filters import DAYS, NAMES, filters_of, words_of
from reviewhub.web.review import find

VERIFIER: Final = Path(verify_audit.__file__)
PATIENCE: Final = 30  # times that a page asks for an export that has not begun
TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}


@page(Action.AUDIT_READ)
def export(request: HttpRequest, caller: MemberCaller) -> HttpResponseBase:
    """What fits the page's filters: `?as=csv`, `?as=jsonl`, or a bundle that proves itself.

    A bundle without another filter than days has whole seals; `?states=1` puts the states into it that events name.
    """
    filters = filters_of(request.GET, caller.workspace_id)
    form, words, who = request.GET.get("as", "bundle"), words_of(request.GET), actor(request, caller)
    where, states = caller.workspace_id, NamedStates() if request.GET.get("states") == "1" else None
    with transaction.atomic():
        if form != "bundle":
            bundle = export_plain(
                workspace_id=where,
                workspace=caller.member.workspace.slug,
                actor=who,
                filters=filters,
                words=words,
                form=form,
            )
        elif all(name in DAYS for name in NAMES if request.GET.get(name, "").strip()):
            bundle = export_range(
                workspace_id=where, actor=who, since=filters.since, until=filters.until, states=states
            )
        else:
            bundle = export_selection(
                workspace_id=where, actor=who, filters=filters, words=words, states=states
            )
    if (export_id := _id(request.GET.get("export", ""))) is not None:
        lines = noted(
            bundle.lines, bundle.progress, export_id=export_id, workspace_id=where, actor_id=caller.member.pk
        )
        bundle = replace(bundle, lines=lines)
    return download(bundle)


@page(Action.AUDIT_READ)
def progress(request: HttpRequest, caller: MemberCaller, export_id: uuid.UUID) -> HttpResponse:
    """How far one's own export has come: a part of the page, which asks for itself again until it has ended."""
    rows = Export.objects.filter(pk=export_id, workspace_id=caller.workspace_id, actor_id=caller.member.pk)
    found, given = rows.first(), request.GET.get("asked", "")
    asked = int(given) + 1 if given.isascii() and given.isdecimal() and len(given) < 6 else 1
    context = {
        "export": found,
        "export_id": export_id,
        "asked": asked,
        # The first time, an export of before may stand there; and a press that began none is not followed for ever.
        "asks": asked == 1 or (found.ended_at is None if found else asked < PATIENCE),
        "workspace": caller.member.workspace,
    }
    return render(request, "web/_export.html", context)


@page(Action.AUDIT_READ)
def proof(request: HttpRequest, caller: MemberCaller, event: int) -> HttpResponseBase:
    """One event with the path to the signed root of its seal."""
    with transaction.atomic():
        bundle = export_one(
            workspace_id=caller.workspace_id,
            actor=actor(request, caller),
            event_id=min(event, 2**63 - 1),
        )
    return download(bundle)


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


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        return None


def download(bundle: Bundle) -> StreamingHttpResponse:
    """A file, sent as it is made."""
    form = bundle.name.rpartition(".")[2]
    answer = StreamingHttpResponse(bundle.lines, content_type=TYPES[form])
    answer["Content-Disposition"] = f'attachment; filename="{bundle.name}"'
    return answer
