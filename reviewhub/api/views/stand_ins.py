"""Who votes in whose place: for people, about themselves."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.delegate import delegate
from reviewhub.accounts.lent import delegations_of
from reviewhub.accounts.models import Delegation, Member
from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.accounts.take_back import take_back
from reviewhub.api.base import actor_of, answer, read, read_nothing
from reviewhub.api.views.retention import WorkspaceView
from reviewhub.core.errors import Forbidden, Invalid
from reviewhub.core.rows import one_or_none

SHOWN = 100


class StandInView(WorkspaceView):
    """An endpoint about one's own stand-ins."""

    def member(self, request: Request) -> MemberCaller:
        """Who asks, as a member. Raises NotFound, Forbidden."""
        caller = self.allowed(request, Action.VOTES_LEND)
        if not isinstance(caller, MemberCaller):
            raise Forbidden
        return caller


class StandIns(StandInView):
    """`GET, POST /stand-ins`"""

    @extend_schema(operation_id="stand_ins_list", responses=wire.StandInList)
    def get(self, request: Request) -> HttpResponse:
        """One's own stand-ins, and for whom one stands in."""
        rows = delegations_of(self.member(request).member)[:SHOWN]
        return answer(wire.StandInList(items=[_out(row) for row in rows]))

    @extend_schema(request=wire.StandInBody, responses={201: wire.StandInOut})
    def post(self, request: Request) -> HttpResponse:
        """Lets somebody vote in one's place for a while."""
        caller = self.member(request)
        body = read(request, wire.StandInBody)
        members = Member.objects.filter(workspace_id=caller.workspace_id)
        to = one_or_none(members.filter(person__email__iexact=body.to))
        if to is None:
            raise Invalid.at("/to", "There is nobody with this address in the workspace.")
        made = delegate(
            member=caller.member,
            to=to,
            starts_at=body.starts_at,
            ends_at=body.ends_at,
            actor=actor_of(request, caller),
        )
        return answer(_out(made), status=201)


class EndStandIn(StandInView):
    """`POST /stand-ins/{stand_in}/end`"""

    @extend_schema(request=None, responses=wire.StandInOut)
    def post(self, request: Request, stand_in: uuid.UUID) -> HttpResponse:
        """Takes one's votes back; votes that were given stay."""
        caller = self.member(request)
        read_nothing(request)
        take_back(delegation_id=stand_in, member=caller.member, actor=actor_of(request, caller))
        return answer(_out(delegations_of(caller.member).get(pk=stand_in)))


def _out(row: Delegation) -> wire.StandInOut:
    more = {"ended_at": row.ended_at} if row.ended_at is not None else {}
    return wire.StandInOut(
        id=row.pk,
        member=row.member.person.name,
        to=row.to.person.name,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        **more,
    )
