"""Branches: claim, heartbeat, finish, fail, records; and what is due to be woken."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from reviewhub_agents import canonical, wire

from reviewhub.accounts.permissions import Action
from reviewhub.api.base import AgentView, actor_of, answer, key_of, read
from reviewhub.checkpoints.emptied import or_removed
from reviewhub.core.errors import Invalid
from reviewhub.gates.enter import enter
from reviewhub.gates.fail import fail
from reviewhub.gates.finish import finish
from reviewhub.gates.handover import handover
from reviewhub.gates.hold_branch import hold_branch
from reviewhub.gates.present import calls_out
from reviewhub.gates.present_runs import branches_out, child_out, resumption_out
from reviewhub.gates.sleep import sleep
from reviewhub.gates.start_child import start_child
from reviewhub.gates.wait_for import wait_for
from reviewhub.hosting.keep_record import keep_record
from reviewhub.hosting.queries import record_of, records_of
from reviewhub.resumptions.queries import open_for
from reviewhub.runs.fence import continue_from
from reviewhub.runs.heartbeat import heartbeat
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.queries import calls_of

MOST_LEASE_SECONDS = 3600


def lease_seconds(body: wire.ClaimBody | wire.HeartbeatBody) -> int:
    """The lease that the caller wants, in seconds; `LEASE_SECONDS` when it says nothing."""
    if body.lease is None:
        return settings.LEASE_SECONDS
    seconds = int(body.lease.total_seconds())
    if not 1 <= seconds <= MOST_LEASE_SECONDS:
        raise Invalid.at("/lease", f"{seconds} s; a lease is 1 to {MOST_LEASE_SECONDS} s")
    return seconds


class Claim(AgentView):
    """`POST /branches/{branch}/claim`"""

    @extend_schema(request=wire.ClaimBody, responses=wire.ClaimOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Takes the branch's lease; every write of its holder carries the epoch from now on."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        key, body = key_of(request), read(request, wire.ClaimBody)
        owner = body.owner or self.caller(request).key.prefix
        held = hold_branch(
            branch_id=found.pk,
            body=body,
            owner=owner,
            seconds=lease_seconds(body),
            key=key,
            actor=actor_of(request),
        )
        (out,) = branches_out([held])
        return answer(
            wire.ClaimOut(epoch=held.epoch, lease_until=cast("datetime", held.lease_until), branch=out)
        )


class Heartbeat(AgentView):
    """`POST /branches/{branch}/heartbeat`"""

    @extend_schema(request=wire.HeartbeatBody, responses=wire.HeartbeatOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Says that the agent lives, renews its lease, and tells what the branch is by now."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        body = read(request, wire.HeartbeatBody)
        seen = heartbeat(branch_id=found.pk, epoch=body.epoch, seconds=lease_seconds(body))
        return answer(_heartbeat_out(seen))


class Finish(AgentView):
    """`POST /branches/{branch}/finish`"""

    @extend_schema(request=wire.FinishBody, responses=wire.BranchOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Ends the branch as succeeded; refused while a call waits, runs or is unknown."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        body = read(request, wire.FinishBody)
        ended = finish(branch_id=found.pk, body=body, actor=actor_of(request))
        return answer(branches_out([ended])[0])


class Enter(AgentView):
    """`POST /branches/{branch}/enter`"""

    @extend_schema(request=wire.EnterBody, responses=wire.EnterOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Whether a step of the agent's graph may be entered without asking; changes nothing."""
        found = self.branch(request, branch, Action.RUN_READ)
        body = read(request, wire.EnterBody)
        said = enter(branch=found, node=body.node, step=body.step)
        fields: dict[str, Any] = {} if said.arguments is None else {"arguments_text": said.arguments}
        return answer(wire.EnterOut(gated=said.is_gated, **fields))


class Fail(AgentView):
    """`POST /branches/{branch}/fail`"""

    @extend_schema(request=wire.FailBody, responses=wire.BranchOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Ends the branch as failed; what still waited is cancelled."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        body = read(request, wire.FailBody)
        ended = fail(branch_id=found.pk, body=body, actor=actor_of(request))
        return answer(branches_out([ended])[0])


class Handover(AgentView):
    """`GET /branches/{branch}/handover`"""

    @extend_schema(responses=wire.HandoverOut)
    def get(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """A note for the model that goes on: the plan, what was done, what runs or is unknown, and who decided."""
        found = self.branch(request, branch, Action.RUN_READ)
        return answer(wire.HandoverOut(branch=found.pk, text=handover(found)))


class Records(AgentView):
    """`GET | PUT /branches/{branch}/records/{key}`"""

    @extend_schema(responses=wire.RecordOut)
    def get(self, request: Request, branch: uuid.UUID, key: str) -> HttpResponse:
        """The remembered value."""
        found = self.branch(request, branch, Action.RUN_READ)
        with or_removed(found.run_id):
            row = record_of(branch=found, key=key)
        return answer(wire.RecordOut(key=row.key, value=canonical.reread(row.value), existed=True))

    @extend_schema(request=wire.RecordBody, responses={201: wire.RecordOut, 200: wire.RecordOut})
    def put(self, request: Request, branch: uuid.UUID, key: str) -> HttpResponse:
        """Remembers a value; the first one wins, and the answer says which it is."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        body = read(request, wire.RecordBody)
        row, existed = keep_record(
            branch_id=found.pk, key=key, value=canonical.dumps(body.value), epoch=body.epoch
        )
        out = wire.RecordOut(key=row.key, value=canonical.reread(row.value), existed=existed)
        return answer(out, status=200 if existed else 201)


class AllRecords(AgentView):
    """`GET /branches/{branch}/records`"""

    takes = frozenset({"cursor"})

    @extend_schema(operation_id="branches_records_list", responses=wire.RecordList)
    def get(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """What the branch remembers, newest first; `?cursor=` for the next page."""
        found = self.branch(request, branch, Action.RUN_READ)
        page = records_of(branch=found, cursor=request.query_params.get("cursor", ""))
        items = [
            wire.RecordOut(key=row.key, value=canonical.reread(row.value), existed=True) for row in page.rows
        ]
        return answer(wire.RecordList(items=items, **({"next": page.next} if page.next else {})))


class ToolCalls(AgentView):
    """`GET /branches/{branch}/tool-calls`"""

    takes = frozenset({"cursor"})

    @extend_schema(operation_id="branches_tool_calls_list", responses=wire.ToolCallList)
    def get(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """The branch's tool calls as they stand, newest first; `?cursor=` for the next page."""
        found = self.branch(request, branch, Action.RUN_READ)
        page = calls_of(branch=found, cursor=request.query_params.get("cursor", ""))
        items = calls_out(page.rows)
        return answer(wire.ToolCallList(items=items, **({"next": page.next} if page.next else {})))


class Sleep(AgentView):
    """`POST /branches/{branch}/sleep`"""

    @extend_schema(request=wire.SleepBody, responses=wire.SleepOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Gives the branch up until a time; `GET /resumptions` has it then. Nothing happens when that has come."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        body = read(request, wire.SleepBody)
        due = sleep(
            branch_id=found.pk, until=body.until, epoch=body.epoch, kind="poll", actor=actor_of(request)
        )
        return answer(wire.SleepOut(due=due, until=body.until))


class Children(AgentView):
    """`POST /branches/{branch}/children`"""

    @extend_schema(request=wire.ChildStart, responses=wire.ChildOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """Starts a run of the same agent below this one; the same key again answers with the same child."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        body = read(request, wire.ChildStart)
        child = start_child(
            branch_id=found.pk,
            key=body.key,
            graph=body.graph,
            given=canonical.reread(canonical.dumps(body.input)),
            title=body.title,
            epoch=body.epoch,
            actor=actor_of(request),
        )
        return answer(child_out(child))


class Wait(AgentView):
    """`POST /branches/{branch}/wait`"""

    @extend_schema(request=wire.WaitBody, responses=wire.WaitOut)
    def post(self, request: Request, branch: uuid.UUID) -> HttpResponse:
        """How child runs ended. While one goes on, the branch is given up; `GET /resumptions` has it afterwards."""
        found = self.branch(request, branch, Action.RUN_WRITE)
        body = read(request, wire.WaitBody)
        over = wait_for(
            branch_id=found.pk, keys=body.keys, epoch=body.epoch, kind="poll", actor=actor_of(request)
        )
        return answer(wire.WaitOut(over=over is not None, children=[child_out(one) for one in over or ()]))


class Resumptions(AgentView):
    """`GET /resumptions`"""

    @extend_schema(responses=wire.ResumptionList)
    def get(self, request: Request) -> HttpResponse:
        """What may go on in the key's environment; with `?wait=30` held back until there is something."""
        key = self.key(request, Action.RUN_READ)
        items = [resumption_out(row) for row in open_for(key)]
        return answer(wire.ResumptionList(items=items), wait_for="" if items else f"agent:{key.agent_id}")


def _heartbeat_out(branch: Branch) -> wire.HeartbeatOut:
    fields: dict[str, Any] = {"state": branch.state, "epoch": branch.epoch}
    if branch.lease_until:
        fields["lease_until"] = branch.lease_until
    onward = continue_from(branch)
    if onward:
        fields["continue_from"] = wire.ContinueFrom.from_tree(onward)
    return wire.HeartbeatOut(**fields)
