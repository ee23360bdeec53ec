"""The later look at what ran without waiting: for people."""

from __future__ import annotations

import uuid
from typing import Final

from django.db.models import prefetch_related_objects
from django.http import HttpResponse, QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import canonical, wire

from reviewhub.accounts.permissions import Action, Caller, MemberCaller, Target, require, scope_of
from reviewhub.api.authentication import caller_in, caller_of
from reviewhub.api.base import PersonView, actor_of, answer, key_of, read, read_nothing, read_tree
from reviewhub.api.problems import problem_of
from reviewhub.core.errors import Invalid, NotFound, ReviewHubError
from reviewhub.core.rows import one_or_none
from reviewhub.gates.look_back import follow_back, look_back
from reviewhub.reviews.close_follow_up import close_follow_up
from reviewhub.reviews.looks import LookFilters, looks
from reviewhub.reviews.models import FollowUp, PostReview
from reviewhub.reviews.present_looks import follow_up_out, look_list, look_out
from reviewhub.reviews.reopen import reopen
from reviewhub.reviews.states import PostReviewState
from reviewhub.reviews.targets import post_review_target

_WHOLE: Final = ("tool_call__branch", "follow_ups")


class LookView(PersonView):
    """An endpoint about one call that was drawn."""

    def found(self, request: Request, call_id: uuid.UUID) -> tuple[PostReview, MemberCaller]:
        """The call's later look and who asks, if they may look.

        Raises:
            NotFound: it was not drawn, or they may not know of it.
            Forbidden: they may not look at such calls.
        """
        row = _loaded(call_id)
        caller = caller_in(request, row.workspace_id)
        require(caller, Action.POST_REVIEW_GRADE, post_review_target(row))
        if not isinstance(caller, MemberCaller):
            raise NotFound
        return row, caller


class Looks(PersonView):
    """`GET /observations`"""

    takes = frozenset({"cursor", "state", "agent", "tool", "handed_to"})

    @extend_schema(operation_id="observations_list", responses=wire.LookList)
    def get(self, request: Request) -> HttpResponse:
        """Calls that were drawn for a later look, `?state=drawn` unless another is named, with `?cursor=`,
        `?agent=`, `?tool=` and `?handed_to=me`."""
        caller = caller_of(request)
        require(caller, Action.POST_REVIEW_GRADE, Target(workspace_id=caller.workspace_id))
        query = request.query_params
        page = looks(scope_of(caller), filters=_filters(query, caller), cursor=query.get("cursor", ""))
        prefetch_related_objects(page.rows, *_WHOLE)
        return answer(look_list(page))


class OneLook(LookView):
    """`GET /observations/{observation}`"""

    @extend_schema(responses=wire.LookOut)
    def get(self, request: Request, observation: uuid.UUID) -> HttpResponse:
        """One call that was drawn, with what was found and what followed."""
        row, _ = self.found(request, observation)
        return answer(look_out(row))


class Grade(LookView):
    """`POST /observations/{observation}/grade`"""

    @extend_schema(request=wire.GradeBody, responses=wire.LookOut)
    def post(self, request: Request, observation: uuid.UUID) -> HttpResponse:
        """Takes this person's verdict, and what follows a flag; the run goes on as it does."""
        _, caller = self.found(request, observation)
        key, body = key_of(request), read_tree(request)
        message = body.read(wire.GradeBody)
        look_back(
            call_id=observation,
            body=message,
            body_digest=body.digest,
            key=key,
            actor=actor_of(request, caller),
        )
        return answer(look_out(_loaded(observation)))


class BulkGrades(LookView):
    """`POST /observations/grade`"""

    @extend_schema(
        operation_id="observations_grade_bulk",
        request=wire.BulkGradeBody,
        responses={200: wire.BulkGradeOut, 422: wire.BulkGradeOut},
    )
    def post(self, request: Request) -> HttpResponse:
        """Several verdicts, each naming its call, each in a transaction of its own; 422 when none was taken."""
        key, entries = key_of(request), read(request, wire.BulkGradeBody).grades
        results = [self._one(request, entry, key) for entry in entries]
        some = any(result.status == 200 for result in results)
        return answer(wire.BulkGradeOut(results=results), status=200 if some else 422)

    def _one(self, request: Request, entry: wire.BulkGrade, key: str) -> wire.BulkGradeResult:
        observation = entry.observation
        tree = entry.to_tree()
        tree.pop("observation")
        try:
            _, caller = self.found(request, observation)
            look_back(
                call_id=observation,
                body=wire.GradeBody.from_tree(tree),
                body_digest=canonical.body_digest(tree),
                key=key,
                actor=actor_of(request, caller),
            )
        except ReviewHubError as refusal:
            problem = problem_of(refusal)
            shown = wire.Problem.from_text(canonical.dumps(problem.body()))
            return wire.BulkGradeResult(observation=observation, status=problem.status, problem=shown)
        return wire.BulkGradeResult(
            observation=observation, status=200, result=look_out(_loaded(observation))
        )


class FollowUps(LookView):
    """`POST /observations/{observation}/follow-up`"""

    @extend_schema(request=wire.FollowUpBody, responses={201: wire.LookOut})
    def post(self, request: Request, observation: uuid.UUID) -> HttpResponse:
        """One more follow-up of a call that is flagged."""
        _, caller = self.found(request, observation)
        key, body = key_of(request), read_tree(request)
        message = body.read(wire.FollowUpBody)
        follow_back(
            call_id=observation,
            body=message,
            body_digest=body.digest,
            key=key,
            actor=actor_of(request, caller),
        )
        return answer(look_out(_loaded(observation)), status=201)


class Reopen(LookView):
    """`POST /observations/{observation}/reopen`"""

    @extend_schema(request=None, responses=wire.LookOut)
    def post(self, request: Request, observation: uuid.UUID) -> HttpResponse:
        """Takes a verdict back that nothing followed."""
        _, caller = self.found(request, observation)
        read_nothing(request)
        reopen(call_id=observation, actor=actor_of(request, caller))
        return answer(look_out(_loaded(observation)))


class CloseFollowUp(LookView):
    """`POST /follow-ups/{follow_up}/close`"""

    @extend_schema(request=wire.CloseFollowUpBody, responses=wire.FollowUpOut)
    def post(self, request: Request, follow_up: uuid.UUID) -> HttpResponse:
        """Somebody has seen to it."""
        call_id = FollowUp.objects.filter(pk=follow_up).values_list("post_review__tool_call_id", flat=True)
        of_call = call_id.first()
        if of_call is None:
            raise NotFound("There is no such follow-up.")
        _, caller = self.found(request, of_call)
        note = read(request, wire.CloseFollowUpBody).note
        row = close_follow_up(follow_up_id=follow_up, note=note, actor=actor_of(request, caller))
        return answer(follow_up_out(row))


def _loaded(call_id: uuid.UUID) -> PostReview:
    row = one_or_none(PostReview.objects.filter(tool_call_id=call_id).select_related("agent"))
    if row is None:
        raise NotFound("This was not drawn for a later look.")
    prefetch_related_objects([row], *_WHOLE)
    return row


def _filters(query: QueryDict, caller: Caller) -> LookFilters:
    state = query.get("state", PostReviewState.DRAWN)
    if state not in PostReviewState.values:
        raise Invalid.at("/query/state", f"is one of {', '.join(PostReviewState.values)}")
    handed_to = query.get("handed_to")
    if handed_to is not None and (handed_to != "me" or not isinstance(caller, MemberCaller)):
        raise Invalid.at("/query/handed_to", "can only be me")
    return LookFilters(
        state=PostReviewState.FLAGGED if handed_to and "state" not in query else state,
        agent=query.get("agent", ""),
        tool=query.get("tool", ""),
        handed_to=caller.member.pk if handed_to and isinstance(caller, MemberCaller) else None,
    )
