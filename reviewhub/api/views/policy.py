"""Policy, for people: what is in force, what was, the draft, its backtest, and what history suggests."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Workspace
from reviewhub.accounts.permissions import Action, Caller
from reviewhub.api.base import actor_of, answer, read, read_nothing
from reviewhub.api.views.retention import WorkspaceView
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.insights.cancel_backtest import cancel_backtest
from reviewhub.insights.present import backtest_out, draft_out, suggestion_list
from reviewhub.insights.queries import report
from reviewhub.insights.start_backtest import start_backtest
from reviewhub.insights.take_up import take_up
from reviewhub.policies.discard_draft import discard_draft
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.model import Policy
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.present import looked_at, policy_out, version_list
from reviewhub.policies.publish import checked, publish
from reviewhub.policies.publish_draft import publish_draft
from reviewhub.policies.queries import current, history, version
from reviewhub.policies.roll_back import roll_back
from reviewhub.policies.save_draft import save_draft
from reviewhub.policies.set_shadow import set_shadow

_LAYERS = tuple(f"/{layer}" for layer in Policy.model_fields)


class PolicyView(WorkspaceView):
    """An endpoint about the policy of a workspace."""

    def handle_exception(self, exc: Exception) -> Any:
        """Faults within a policy say where it is in the body."""
        if isinstance(exc, Invalid):
            for each in exc.errors:
                if each["path"].startswith(_LAYERS):
                    each["path"] = f"/policy{each['path']}"
        return super().handle_exception(exc)

    def draft_of(self, caller: Caller) -> PolicyDraft:
        """The draft that is worked on. Raises NotFound."""
        found = open_draft(caller.workspace_id)
        if found is None:
            raise NotFound("There is no draft.")
        return found


def _workspace(caller: Caller) -> Workspace:
    return Workspace.objects.get(pk=caller.workspace_id)


class InForce(PolicyView):
    """`GET /policy`"""

    @extend_schema(operation_id="policy_in_force", responses=wire.PolicyOut)
    def get(self, request: Request) -> HttpResponse:
        """The version in force."""
        return answer(policy_out(current(self.allowed(request, Action.POLICY_READ).workspace_id)))


class Versions(PolicyView):
    """`GET /policy/versions`"""

    takes = frozenset({"cursor"})

    @extend_schema(
        operation_id="policy_versions_list",
        parameters=[OpenApiParameter("cursor", str)],
        responses=wire.PolicyVersionList,
    )
    def get(self, request: Request) -> HttpResponse:
        """Every version that was published, the newest first. `?cursor=`."""
        caller = self.allowed(request, Action.POLICY_READ)
        return answer(
            version_list(history(caller.workspace_id, cursor=request.query_params.get("cursor", "")))
        )


class OneVersion(PolicyView):
    """`GET /policy/versions/{number}`"""

    @extend_schema(responses=wire.PolicyOut)
    def get(self, request: Request, number: int) -> HttpResponse:
        """One version as it was published."""
        return answer(policy_out(version(self.allowed(request, Action.POLICY_READ).workspace_id, number)))


class Check(PolicyView):
    """`POST /policy/check`"""

    @extend_schema(request=wire.CheckPolicyBody, responses=wire.CheckPolicyOut)
    def post(self, request: Request) -> HttpResponse:
        """Whether a policy could be published, and what it would change; nothing is stored."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        workspace = _workspace(caller)
        policy = checked(canonical.dumps(read(request, wire.CheckPolicyBody).policy), workspace)
        return answer(wire.CheckPolicyOut(**looked_at(policy, workspace.pk)))


class Publish(PolicyView):
    """`POST /policy/publish`"""

    @extend_schema(request=wire.PublishBody, responses={201: wire.PolicyOut})
    def post(self, request: Request) -> HttpResponse:
        """Puts a policy in force, from the next check on; 409 `changed` when another version is in force by now."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.PublishBody)
        made = publish(
            workspace=_workspace(caller),
            rules_text=canonical.dumps(body.policy),
            note=body.note,
            base=body.base,
            actor=actor_of(request, caller),
        )
        return answer(policy_out(made), status=201)


class RollBack(PolicyView):
    """`POST /policy/roll-back`"""

    @extend_schema(request=wire.RollBackBody, responses={201: wire.PolicyOut})
    def post(self, request: Request) -> HttpResponse:
        """Publishes what an older version said as a new one."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.RollBackBody)
        made = roll_back(
            workspace=_workspace(caller),
            number=body.number,
            note=body.note,
            base=body.base,
            actor=actor_of(request, caller),
        )
        return answer(policy_out(made), status=201)


class Draft(PolicyView):
    """`GET, PUT /policy/draft`"""

    @extend_schema(responses=wire.DraftOut)
    def get(self, request: Request) -> HttpResponse:
        """The draft, what it changes, and what it did in shadow; 404 when there is none."""
        return answer(draft_out(self.draft_of(self.allowed(request, Action.POLICY_EDIT))))

    @extend_schema(request=wire.DraftBody, responses=wire.DraftOut)
    def put(self, request: Request) -> HttpResponse:
        """Keeps a policy as the draft, in the place of the one that it `replaces`."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.DraftBody)
        made = save_draft(
            workspace=_workspace(caller),
            rules_text=canonical.dumps(body.policy),
            note=body.note,
            replaces=body.replaces,
            base=body.base,
            actor=actor_of(request, caller),
        )
        return answer(draft_out(made))


class Shadow(PolicyView):
    """`POST /policy/draft/shadow`"""

    @extend_schema(request=wire.ShadowBody, responses=wire.DraftOut)
    def post(self, request: Request) -> HttpResponse:
        """Puts the draft in shadow, or takes it out."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.ShadowBody)
        found = set_shadow(
            workspace_id=caller.workspace_id,
            draft_id=body.draft,
            on=body.on,
            actor=actor_of(request, caller),
        )
        return answer(draft_out(found))


class Discard(PolicyView):
    """`POST /policy/draft/discard`"""

    @extend_schema(request=wire.WhichDraftBody, responses={204: None})
    def post(self, request: Request) -> HttpResponse:
        """Ends the draft."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.WhichDraftBody)
        discard_draft(workspace_id=caller.workspace_id, draft_id=body.draft, actor=actor_of(request, caller))
        return HttpResponse(status=204)


class PublishDraft(PolicyView):
    """`POST /policy/draft/publish`"""

    @extend_schema(request=wire.PublishDraftBody, responses={201: wire.PolicyOut})
    def post(self, request: Request) -> HttpResponse:
        """Puts the draft in force."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.PublishDraftBody)
        made = publish_draft(
            workspace_id=caller.workspace_id,
            draft_id=body.draft,
            note=body.note,
            base=body.base,
            on_top=body.on_top,
            actor=actor_of(request, caller),
        )
        return answer(policy_out(made), status=201)


class DraftBacktest(PolicyView):
    """`GET, POST /policy/draft/backtest`"""

    @extend_schema(operation_id="policy_backtest", responses=wire.BacktestOut)
    def get(self, request: Request) -> HttpResponse:
        """The newest backtest of the draft, as far as it is; 404 when there is none."""
        return answer(_backtest(self.draft_of(self.allowed(request, Action.POLICY_EDIT))))

    @extend_schema(request=wire.BacktestBody, responses={202: wire.BacktestOut})
    def post(self, request: Request) -> HttpResponse:
        """Starts one; a worker does it. 409 `already_running`: one at a time."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.BacktestBody)
        start_backtest(
            workspace_id=caller.workspace_id,
            draft_id=body.draft,
            days=body.days,
            actor=actor_of(request, caller),
        )
        found = report(self.draft_of(caller))
        assert found is not None
        return answer(backtest_out(found), status=202)


def _backtest(draft: PolicyDraft) -> wire.BacktestOut:
    found = report(draft)
    if found is None:
        raise NotFound("There is no backtest of this draft.")
    return backtest_out(found)


class CancelBacktest(PolicyView):
    """`POST /policy/backtests/{backtest}/cancel`"""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, backtest: uuid.UUID) -> HttpResponse:
        """Ends a backtest that runs; what it counted so far stays."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        read_nothing(request)
        cancel_backtest(
            workspace_id=caller.workspace_id, backtest_id=backtest, actor=actor_of(request, caller)
        )
        return HttpResponse(status=204)


class Suggestions(PolicyView):
    """`GET /policy/suggestions`"""

    @extend_schema(responses=wire.SuggestionList)
    def get(self, request: Request) -> HttpResponse:
        """Rules for what people always approved."""
        return answer(suggestion_list(self.allowed(request, Action.POLICY_EDIT).workspace_id))


class TakeUp(PolicyView):
    """`POST /policy/suggestions/take-up`"""

    @extend_schema(request=wire.TakeUpBody, responses=wire.DraftOut)
    def post(self, request: Request) -> HttpResponse:
        """Puts a suggested rule into the draft, where it can match."""
        caller = self.allowed(request, Action.POLICY_EDIT)
        body = read(request, wire.TakeUpBody)
        try:
            made = take_up(workspace=_workspace(caller), key=body.key, actor=actor_of(request, caller))
        except NotFound as error:
            raise Invalid.at("/key", error.message) from error
        return answer(draft_out(made))
