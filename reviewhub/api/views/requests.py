"""Review requests, as people (and what works for them) read and answer them."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse, QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import canonical, wire

from reviewhub.accounts.permissions import Action, MemberCaller, require, scope_of
from reviewhub.api.authentication import caller_in, caller_of
from reviewhub.api.base import PersonView, actor_of, answer, key_of, read, read_nothing, read_tree
from reviewhub.api.problems import problem_of
from reviewhub.core.errors import Forbidden, Invalid, NotFound, ReviewHubError
from reviewhub.core.rows import one_or_none
from reviewhub.gates.receipts import receipts_of
from reviewhub.insights.note_opening import note_opening
from reviewhub.reviews.ask import ask
from reviewhub.reviews.assurance import OneByOne, check_one_tool, lets_run
from reviewhub.reviews.claim import claim
from reviewhub.reviews.comment import comment
from reviewhub.reviews.decide import decide
from reviewhub.reviews.filters import Filters, filters_of
from reviewhub.reviews.hand_over import hand_over
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.present import comment_out, for_people, question_out, request_detail, request_row
from reviewhub.reviews.queries import listed
from reviewhub.reviews.reasons import reasons_of
from reviewhub.reviews.release import release
from reviewhub.reviews.reveal import reveal
from reviewhub.reviews.snooze import snooze
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.targets import request_target
from reviewhub.reviews.withdraw_vote import withdraw_vote
from reviewhub.tools.models import Risk

log = logging.getLogger("reviewhub.access")


class RequestView(PersonView):
    """An endpoint for one request that the person sees."""

    def found(
        self, request: Request, request_id: uuid.UUID, action: Action
    ) -> tuple[ReviewRequest, MemberCaller]:
        """The request and the membership to act by; a refusal is logged.

        Raises:
            NotFound: there is none, or none that this person may know of.
            Forbidden: they see it, and may not do this.
        """
        row = one_or_none(ReviewRequest.objects.filter(pk=request_id))
        if row is None:
            raise NotFound("There is no such request.")
        try:
            caller = caller_in(request, row.workspace_id)
            require(caller, action, request_target(row))
        except (NotFound, Forbidden) as refusal:
            log.warning("%s refused on request %s for %s", action, request_id, request.user)
            raise type(refusal)("There is no such request." if refusal.status == 404 else "") from None
        if not isinstance(caller, MemberCaller):
            raise Forbidden
        return row, caller


class Requests(PersonView):
    """`GET /requests`"""

    takes = frozenset(
        {
            "agent",
            "by",
            "cursor",
            "free",
            "late",
            "me",
            "mine",
            "q",
            "risk",
            "snoozed",
            "state",
            "team",
            "tool",
        }
    )

    @extend_schema(operation_id="requests_list", responses=wire.RequestList)
    def get(self, request: Request) -> HttpResponse:
        """The queue: what is due first comes first; `?cursor=` for the next page.

        Filters are those of the page: `?state=` (`any`: decided ones, too), `q`, `risk`, `tool`, `agent`, `team`,
        `me` (needs my answer), `mine`, `free`, `late`, `by` (a member who voted on it), `snoozed` (by
        oneself; without it those are listed, too).
        """
        caller = caller_of(request)
        if not isinstance(caller, MemberCaller):
            raise Forbidden
        scope = scope_of(caller)
        query = request.query_params
        filters = _filters(query, caller)
        page = listed(scope, filters=filters, cursor=query.get("cursor", ""))
        for row in page.rows:
            row.workspace = caller.member.workspace  # named in each address, and not read once for each
        fields: dict[str, Any] = {"items": [request_row(row) for row in page.rows]}
        if page.next:
            fields["next"] = page.next
        return answer(wire.RequestList(**fields))


def _filters(query: QueryDict, caller: MemberCaller) -> Filters:
    """The page's filters. Raises Invalid for a state or a risk that there is not: it would narrow nothing."""
    for name, known in (("state", [*RequestState.values, "any"]), ("risk", Risk.values)):
        for value in query.getlist(name):
            if value not in known:
                raise Invalid.at(f"/query/{name}", f"is one of {', '.join(known)}")
    found = filters_of(dict(query.lists()), caller=caller)
    return replace(found, state=query.get("state", RequestState.PENDING), awake_for=None)


class RequestReceipts(RequestView):
    """`GET /requests/{request}/receipts`"""

    @extend_schema(responses=wire.ReceiptList)
    def get(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Signed proof of each decision about the request's call, and of its end."""
        row, _ = self.found(request, request_id, Action.REQUEST_READ)
        return answer(wire.ReceiptList(items=receipts_of(row.tool_call)))


class OneRequest(RequestView):
    """`GET /requests/{request}`"""

    @extend_schema(responses=wire.RequestDetail)
    def get(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Everything that a decision rests on."""
        row, caller = self.found(request, request_id, Action.REQUEST_READ)
        note_opening(row, caller)
        return answer(request_detail(row))


class Decide(RequestView):
    """`POST /requests/{request}/decide`"""

    @extend_schema(request=wire.DecideBody, responses=wire.DecideOut)
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Takes this person's answer; version and digest are those that were shown."""
        row, caller = self.found(request, request_id, Action.REQUEST_DECIDE)
        key, body = key_of(request), read_tree(request)
        out = decide(
            request_id=row.pk,
            member=caller.member,
            body=body.read(wire.DecideBody),
            body_digest=body.digest,
            key=key,
            actor=actor_of(request, caller),
        )
        return answer(out)


class BulkDecide(RequestView):
    """`POST /requests/decide`"""

    @extend_schema(
        operation_id="requests_decide_bulk",
        request=wire.BulkDecideBody,
        responses={200: wire.BulkDecideOut, 422: wire.BulkDecideOut},
    )
    def post(self, request: Request) -> HttpResponse:
        """Several answers, each naming its request, each in a transaction of its own; 422 when none counted.

        What one list lets run is of one tool, and each of it of low risk without a failed check; an entry that lets
        something else run is refused with `one_by_one`.
        """
        key, entries = key_of(request), read_tree(request).read(wire.BulkDecideBody).decisions
        named = [self._named(request, entry) for entry in entries]
        barred = _barred(named)
        results = [_one(request, one, key, barred) for one in named]
        some = any(result.status == 200 for result in results)
        return answer(wire.BulkDecideOut(results=results), status=200 if some else 422)

    def _named(self, request: Request, entry: wire.BulkDecision) -> Named:
        try:
            return Named(entry, self.found(request, entry.request, Action.REQUEST_DECIDE))
        except ReviewHubError as refusal:
            return Named(entry, refusal)


@dataclass(frozen=True)
class Named:
    """One entry of a bulk with the request that it names and who decides it, or why nobody does."""

    entry: wire.BulkDecision
    found: tuple[ReviewRequest, MemberCaller] | ReviewHubError


def _barred(named: Sequence[Named]) -> OneByOne | None:
    """Why nothing is let run by this list; what the person may not decide counts for nothing."""
    rows = [one.found[0] for one in named if isinstance(one.found, tuple) and lets_run(one.entry.type)]
    try:
        check_one_tool(rows)
    except OneByOne as refusal:
        return refusal
    return None


def _one(request: Request, named: Named, key: str, barred: OneByOne | None) -> wire.BulkResult:
    entry = named.entry
    tree = {name: value for name, value in entry.to_tree().items() if name != "request"}
    try:
        if isinstance(named.found, ReviewHubError):
            raise named.found
        if barred is not None and lets_run(entry.type):
            raise barred
        row, caller = named.found
        out = decide(
            request_id=row.pk,
            member=caller.member,
            body=wire.DecideBody.from_tree(tree),
            body_digest=canonical.body_digest(tree),
            key=key,
            actor=actor_of(request, caller),
            is_together=True,
        )
    except ReviewHubError as refusal:
        problem = problem_of(refusal)
        shown = wire.Problem.from_text(canonical.dumps(problem.body()))
        return wire.BulkResult(request=entry.request, status=problem.status, problem=shown)
    return wire.BulkResult(request=entry.request, status=200, result=out)


class Claim(RequestView):
    """`POST /requests/{request}/claim`"""

    @extend_schema(request=wire.ClaimRequestBody, responses=wire.RequestRow)
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Takes the request for a while; `take_over` also from somebody whose claim still holds."""
        row, caller = self.found(request, request_id, Action.REQUEST_CLAIM)
        body = read(request, wire.ClaimRequestBody)
        actor = actor_of(request, caller)
        claim(request_id=row.pk, member=caller.member, actor=actor, take_over=body.take_over)
        row.refresh_from_db()
        return answer(request_row(row))


class Release(RequestView):
    """`POST /requests/{request}/release`"""

    @extend_schema(request=None, responses=wire.RequestRow)
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Gives a claimed request back."""
        row, caller = self.found(request, request_id, Action.REQUEST_CLAIM)
        read_nothing(request)
        release(request_id=row.pk, member=caller.member, actor=actor_of(request, caller))
        row.refresh_from_db()
        return answer(request_row(row))


class WithdrawVote(RequestView):
    """`POST /requests/{request}/withdraw-vote`"""

    @extend_schema(request=None, responses=wire.RequestRow)
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Takes this person's vote back while the request is open; 409 `no_vote` when none counts."""
        row, caller = self.found(request, request_id, Action.REQUEST_DECIDE)
        read_nothing(request)
        withdraw_vote(request_id=row.pk, member=caller.member, actor=actor_of(request, caller))
        row.refresh_from_db()
        return answer(request_row(row))


class HandOver(RequestView):
    """`POST /requests/{request}/hand-over`"""

    @extend_schema(request=wire.HandOverBody, responses=wire.RequestRow)
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Claims the request for a colleague, who is written to; `note` becomes a comment."""
        row, caller = self.found(request, request_id, Action.REQUEST_CLAIM)
        body = read(request, wire.HandOverBody)
        by = actor_of(request, caller)
        hand_over(request_id=row.pk, member=caller.member, to_id=body.to, note=body.note, actor=by)
        row.refresh_from_db()
        return answer(request_row(row))


class Snooze(RequestView):
    """`POST /requests/{request}/snooze`"""

    @extend_schema(request=wire.SnoozeBody, responses=wire.RequestRow)
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Puts the request off in this person's own queue; nobody else's changes."""
        row, caller = self.found(request, request_id, Action.REQUEST_READ)
        body = read(request, wire.SnoozeBody)
        by = actor_of(request, caller)
        snooze(request_id=row.pk, member=caller.member, minutes=body.minutes, actor=by)
        row.refresh_from_db()
        return answer(request_row(row))


class Reasons(PersonView):
    """`GET /reasons`"""

    @extend_schema(responses=wire.ReasonList)
    def get(self, request: Request) -> HttpResponse:
        """The reasons for rejections that admins preset."""
        scope = scope_of(caller_of(request))
        items = [wire.Reason(name=one.name, text=one.text) for one in reasons_of(scope.workspace_id)]
        return answer(wire.ReasonList(items=items))


class Comments(RequestView):
    """`POST /requests/{request}/comment`"""

    @extend_schema(request=wire.CommentBody, responses={201: wire.CommentOut})
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Writes something for the other reviewers."""
        row, caller = self.found(request, request_id, Action.REQUEST_COMMENT)
        body = read(request, wire.CommentBody)
        made = comment(
            request_id=row.pk,
            member=caller.member,
            text=body.text,
            actor=actor_of(request, caller),
            key=request.headers.get("Idempotency-Key", ""),
        )
        return answer(comment_out(made), status=201)


class Ask(RequestView):
    """`POST /requests/{request}/ask`"""

    @extend_schema(request=wire.AskBody, responses={201: wire.QuestionOut})
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Asks the agent something; the request stays pending."""
        row, caller = self.found(request, request_id, Action.REQUEST_ASK)
        body = read(request, wire.AskBody)
        made = ask(
            request_id=row.pk,
            member=caller.member,
            text=body.text,
            actor=actor_of(request, caller),
            key=request.headers.get("Idempotency-Key", ""),
        )
        return answer(question_out(made, row.tool_call, for_people()), status=201)


class Reveal(RequestView):
    """`POST /requests/{request}/reveal`"""

    @extend_schema(request=wire.RevealBody, responses=wire.RevealOut)
    def post(self, request: Request, request_id: uuid.UUID) -> HttpResponse:
        """Shows what is masked everywhere else, and records who looked, and why."""
        row, caller = self.found(request, request_id, Action.SECRET_REVEAL)
        body = read(request, wire.RevealBody)
        seen = reveal(request_id=row.pk, reason=body.reason, actor=actor_of(request, caller))
        values = [wire.RevealedValue(path=path, value=value) for path, value in seen.values.items()]
        return answer(wire.RevealOut(version=seen.version, digest=seen.digest, values=values))
