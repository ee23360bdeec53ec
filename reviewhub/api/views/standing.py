"""Standing approvals: for people. They are made with a decision, see `requests`."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action, Target, require, scope_of
from reviewhub.api.authentication import caller_in, caller_of
from reviewhub.api.base import PersonView, actor_of, answer, read
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.core.rows import one_or_none
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.present import standing_list, standing_out
from reviewhub.standing.queries import listed, standing_in, target_of
from reviewhub.standing.revoke import revoke


class StandingApprovals(PersonView):
    """`GET /standing-approvals`"""

    takes = frozenset({"cursor", "state"})

    @extend_schema(operation_id="standing_approvals_list", responses=wire.StandingList)
    def get(self, request: Request) -> HttpResponse:
        """Those that the person may see, the newest first; `?state=all` also those that ended. `?cursor=`."""
        caller = caller_of(request)
        require(caller, Action.STANDING_READ, Target(workspace_id=caller.workspace_id))
        query = request.query_params
        if query.get("state", "all") != "all":
            raise Invalid.at("/query/state", "can only be all")
        page = listed(scope_of(caller), only_in_force="state" not in query, cursor=query.get("cursor", ""))
        return answer(standing_list(page))


class RevokeStanding(PersonView):
    """`POST /standing-approvals/{standing}/revoke`"""

    @extend_schema(request=wire.WhyBody, responses=wire.StandingOut)
    def post(self, request: Request, standing: uuid.UUID) -> HttpResponse:
        """Ends it at once, also for calls that it let run and that have not started."""
        workspace = one_or_none(
            StandingApproval.objects.filter(pk=standing).values_list("workspace_id", flat=True)
        )
        if workspace is None:
            raise NotFound("There is no such standing approval.")
        caller = caller_in(request, workspace)
        require(caller, Action.STANDING_REVOKE, target_of(standing_in(workspace, standing)))
        reason = read(request, wire.WhyBody).reason
        revoke(standing_id=standing, reason=reason, actor=actor_of(request, caller))
        return answer(standing_out(standing_in(workspace, standing), at=now()))
