"""A worker asks a webhook for its verdict: outside of any transaction, and writes down what came of it."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from reviewhub_agents import canonical

from reviewhub.core import clock
from reviewhub.core.actors import Actor, policy
from reviewhub.core.clock import DbNow
from reviewhub.gates.open_verdicts import gates_of
from reviewhub.plans.models import PlanVersion
from reviewhub.reviews.conclude import conclude
from reviewhub.reviews.lock import lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.toolcalls.locks import lock_call
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.toolcalls.settle import Answer
from reviewhub.toolcalls.states import CallState
from reviewhub.toolcalls.today import today
from reviewhub.verdicts.ask import Said, ask
from reviewhub.verdicts.give import record_verdict
from reviewhub.verdicts.models import Verdict

MAX_ATTEMPTS = 3
LEASE = timedelta(seconds=60)
BATCH = 50
LOST = Said(status="error", detail="Workers that asked it died again and again.")


def due() -> list[uuid.UUID]:
    """Ids of verdicts that are to be asked for, the oldest first."""
    rows = Verdict.objects.filter(status=Verdict.Status.PENDING, next_at__lte=DbNow())
    return list(rows.order_by("next_at").values_list("pk", flat=True)[:BATCH])


def verify(*, verdict_id: uuid.UUID) -> bool:
    """Asks one webhook, at least once; false when there is nothing to ask (any more).

    The row is claimed by a guarded update, so that two workers do not both ask. A webhook that fails or takes too long
    is not asked again: that is its verdict, and people decide.
    """
    claimed = Verdict.objects.filter(
        pk=verdict_id, status=Verdict.Status.PENDING, next_at__lte=DbNow()
    ).update(next_at=clock.now() + LEASE + timedelta(seconds=60), attempts=F("attempts") + 1)
    if not claimed:
        return False
    row = Verdict.objects.select_related("tool_call__agent").get(pk=verdict_id)
    call = row.tool_call
    assert call is not None, "a webhook judges a call"
    if row.attempts > MAX_ATTEMPTS:
        said = LOST
    else:
        known = {one.name: one for one in settings.VERIFIERS}.get(row.name)
        private = known is not None and known.private and known.url == row.url
        said = ask(url=row.url, body=_body(row, call), key=str(row.pk), seconds=row.seconds, private=private)
    return _write(row.pk, call.pk, said)


@transaction.atomic(durable=True)
def _write(verdict_id: uuid.UUID, call_id: uuid.UUID, said: Said) -> bool:
    """Who is first has it. A proposal that passed and only waited for that runs on, if policy still lets it."""
    # In the order of all writers: what the verdict may decide is locked before it is read.
    call = lock_call(call_id).call
    changed = Verdict.objects.filter(pk=verdict_id, status=Verdict.Status.PENDING).update(
        status=said.status,
        detail=said.detail,
        contradicts=said.contradicts,
        ended_at=clock.now(),
        next_at=None,
    )
    if not changed:
        return False
    row = Verdict.objects.get(pk=verdict_id)
    record_verdict(row, call, Actor(kind="system", id=None, name=row.name))
    if row.judges == "proposal" and row.status == Verdict.Status.PASSED:
        _let_run(call_id)
    return True


def _let_run(call_id: uuid.UUID) -> None:
    pending = ReviewRequest.objects.filter(
        tool_call_id=call_id, state=RequestState.PENDING, kind=ReviewRequest.Kind.APPROVAL
    ).first()
    if pending is None:
        return
    locked = lock_request(pending.pk)
    call, request = locked.call, locked.request
    gates = gates_of(agent=call.agent, environment=call.run.environment, tool=call.tool_name)
    passed = Verdict.objects.filter(
        tool_call=call, judges="proposal", source=Verdict.Source.WEBHOOK, status=Verdict.Status.PASSED
    ).values_list("name", flat=True)
    as_it_was = (
        call.version == 1 and call.state == CallState.WAITING and request.state == RequestState.PENDING
    )
    # What waits for more than that, a person has to look at: an equal call that acted, a grant that expired, a check.
    if not as_it_was or not gates or not set(gates) <= set(passed) or request.repeats.exists():
        return
    if ReviewRequest.objects.filter(tool_call=call).count() > 1:
        return
    because = canonical.reread(call.because)
    if not isinstance(because, dict) or because.get("kind") not in ("rule", "default"):
        # A limit is passed, people said no to exactly this call, or one of them answers for it in advance.
        return
    answer = today(call).answer
    if answer.action not in ("allow", "observe"):
        return
    said = f"{' and '.join(gates)} passed it. {answer.text}"
    approve = Answer(
        type="approve",
        to=CallState.ALLOWED,
        by=policy(answer.policy_version),
        message=said,
        request_id=request.pk,
        policy_version=answer.policy_version,
        by_policy=True,
    )
    conclude(locked=locked, request=request, answer=approve)


def _body(row: Verdict, call: ToolCall) -> str:
    """What a webhook is told: the call with its exact arguments, its result, and the plan in force."""
    tree: dict[str, Any] = {
        "verdict": str(row.pk),
        "name": row.name,
        "judges": row.judges,
        "call": str(call.pk),
        "run": str(call.run_id),
        "agent": call.agent.name,
        "tool": call.tool_name,
        "digest": call.digest,
        "arguments": canonical.reread(arguments_of(call)),
    }
    if row.judges == "result" and call.result is not None:
        tree["result"] = canonical.reread(call.result)
    version = PlanVersion.objects.filter(run_id=call.run_id, number=row.plan).first()
    if version is not None:
        tree["plan"] = {"version": row.plan, "content": canonical.reread(version.content)}
    return canonical.dumps(tree)
