"""Several requests decided together: first a page that names each of them, then one decision per request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import BadJson

from reviewhub.accounts.permissions import Action, MemberCaller, require, scope_of
from reviewhub.core.display import arguments
from reviewhub.core.display.arguments import Arguments
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.core.errors import Invalid, ReviewHubError
from reviewhub.core.limits import limits
from reviewhub.reviews.assurance import OneByOne, check_together, check_words
from reviewhub.reviews.decide import decide
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.queries import visible
from reviewhub.reviews.reasons import reasons_of
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.targets import request_target
from reviewhub.toolcalls.models import CallVersion
from reviewhub.tools.models import Tool
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import text_in, words
from reviewhub.web.render import show
from reviewhub.web.saved import sent_from

MOST = 50
TYPES = ("approve", "reject")


@dataclass(frozen=True)
class Pick:
    """One ticked row: the request, and the version and digest that were shown."""

    row: ReviewRequest
    version: str
    digest: str
    arguments: Arguments
    needs_word: bool
    """Whether its rule wants a word typed for each."""

    @property
    def is_shown_whole(self) -> bool:
        """Whether this page shows every argument to its end."""
        return self.arguments.is_shown_whole

    @property
    def value(self) -> str:
        """As the form names it."""
        return f"{self.row.number}:{self.version}:{self.digest}"


@dataclass(frozen=True)
class Result:
    """What became of one."""

    row: ReviewRequest
    is_done: bool
    words: str


def _page(
    request: HttpRequest, caller: MemberCaller, errors: Sequence[str] = (), status: int = 200
) -> HttpResponse:
    picks, type_ = _picks(caller, request.POST), request.POST.get("type", "")
    refusal = _refusal(picks, type_)
    context = {
        "picks": picks,
        "type": type_,
        "refusal": refusal,
        "errors": errors,
        "key": uuid.uuid4(),
        "message": request.POST.get("message", ""),
        "reasons": reasons_of(caller.workspace_id) if type_ == "reject" else [],
        "picked": request.POST.get("reason", ""),
        "back": sent_from(request),
    }
    return show(request, caller, "web/bulk.html", context, nav="queue", status=422 if refusal else status)


def _again(request: HttpRequest, caller: MemberCaller, error: Invalid) -> HttpResponse:
    return _page(request, caller, words(error), error.status)


@posted
@page(Action.QUEUE_READ, again=_again)
def bulk(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Names what is about to be decided, or says why it cannot be done together."""
    return _page(request, caller)


@posted
@page(Action.QUEUE_READ, again=_again)
def send(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Decides one by one, each in its own transaction; says for each what became of it."""
    given = request.POST
    picks = _picks(caller, given)
    type_, message = given.get("type", ""), text_in(request, "message")
    if _refusal(picks, type_):
        return _page(request, caller)
    said = {"message": message, "reason": text_in(request, "reason") if type_ == "reject" else ""}
    if not said["reason"]:
        check_words(type_, message)
    results = [_one(request, caller, pick, type_, said, given.get("key", "")) for pick in picks]
    done = sum(one.is_done for one in results)
    context = {"results": results, "done": done, "type": type_, "back": sent_from(request)}
    return show(request, caller, "web/bulk_done.html", context, nav="queue", status=200 if done else 409)


def _one(
    request: HttpRequest, caller: MemberCaller, pick: Pick, type_: str, said: Mapping[str, str], key: str
) -> Result:
    tree: dict[str, Any] = {"type": type_, "version": canonical.Number(pick.version), "digest": pick.digest}
    tree |= {name: text for name, text in said.items() if text}
    try:
        require(caller, Action.REQUEST_DECIDE, request_target(pick.row))
        out = decide(
            request_id=pick.row.pk,
            member=caller.member,
            body=wire.DecideBody.from_tree(tree, limits=limits()),
            body_digest=canonical.body_digest(tree),
            key=f"{key}-{pick.row.number}",
            actor=actor(request, caller),
            is_together=True,
        )
    except ReviewHubError as problem:
        return Result(pick.row, is_done=False, words=problem.message)
    except BadJson as problem:
        return Result(pick.row, is_done=False, words=str(problem))
    still = " It still waits for others." if out.state == "pending" else ""
    return Result(pick.row, is_done=True, words=f"{'Approved' if type_ == 'approve' else 'Rejected'}.{still}")


def _one_by_one(picks: list[Pick]) -> str:
    """Why some of these are approved one by one: what nobody has read whole here is approved by nobody here."""
    if long := [f"#{pick.row.number}" for pick in picks if not pick.is_shown_whole]:
        return f"Not everything of {', '.join(long)} can be shown here. Approve that by itself."
    if typed := [f"#{pick.row.number}" for pick in picks if pick.needs_word]:
        return f"A rule wants a word typed for {', '.join(typed)}. Approve that by itself."
    return ""


def _picks(caller: MemberCaller, given: QueryDict) -> list[Pick]:
    """The ticked rows that the caller can see, in the order of the page; anything else is left out."""
    named: dict[int, tuple[str, str]] = {}
    for text in given.getlist("pick")[:MOST]:
        number, _, rest = text.partition(":")
        version, _, digest = rest.partition(":")
        if all(one.isascii() and one.isdecimal() and len(one) < 16 for one in (number, version)):
            named[int(number)] = (str(int(version)), digest)
    rows = {row.number: row for row in visible(scope_of(caller)).filter(number__in=named)}
    shown = _arguments(list(rows.values()))
    return [
        Pick(
            rows[number],
            *named[number],
            arguments=shown[number],
            needs_word=Stored.model_validate_json(rows[number].requirement).requirement.typed_confirmation,
        )
        for number in named
        if number in rows
    ]


def _arguments(rows: Sequence[ReviewRequest]) -> dict[int, Arguments]:
    """The arguments of each request, in two queries."""
    calls = [row.tool_call_id for row in rows]
    versions = CallVersion.objects.filter(tool_call_id__in=calls).order_by("version")
    texts = {version.tool_call_id: version.arguments for version in versions}  # the newest of each
    tools = Tool.objects.filter(agent_id__in={row.agent_id for row in rows})
    schemas = {(tool.agent_id, tool.name): tool.schema for tool in tools.defer("sentence")}
    found = {}
    for row in rows:
        text = texts[row.tool_call_id]
        secret = write_only_paths(schemas.get((row.agent_id, row.tool_name), ""), text)
        found[row.number] = arguments.rows(text, secret_paths=secret)
    return found


def _refusal(picks: list[Pick], type_: str) -> str:
    """Why these are not decided together; empty when they may be."""
    if type_ not in TYPES:
        return "Several requests can only be approved or rejected together."
    if not picks:
        return "Nothing is ticked, or nothing of it is there any more."
    if type_ == "approve":
        try:
            check_together([pick.row for pick in picks])
        except OneByOne as refusal:
            return refusal.message
        return _one_by_one(picks)
    return ""
