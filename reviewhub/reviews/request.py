"""A tool call is put before people."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import connection

from reviewhub.accounts.models import Agent, Workspace
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.display.sentence import Part, pack, plain
from reviewhub.reviews.kinds import RequestOpened
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.named import reading
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import tally
from reviewhub.reviews.share import share
from reviewhub.reviews.tell_undecided import tell_undecided
from reviewhub.reviews.turn import asks, tell, waits_for
from reviewhub.runs.above import with_those_above
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall

# Django can count on, but not say in the same statement what came of it.
_NEXT_NUMBER = """
UPDATE accounts_workspace SET request_numbers = request_numbers + 1 WHERE id = %s RETURNING request_numbers
"""
RANK = {"low": 0, "medium": 1, "high": 2, "critical": 3}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What people are asked about one call, prepared outside the transaction."""

    stored: Stored
    sentence: tuple[Part, ...]
    risk: str
    failed_checks: int = 0
    kind: str = ReviewRequest.Kind.APPROVAL
    again_of: ReviewRequest | None = None
    repeats: tuple[uuid.UUID, ...] = ()
    arguments: str = ""
    """Those of the call, masked: the record is searched by them."""
    undecided: tuple[str, ...] = ()
    """What of policy could not be evaluated."""

    def after(self, last: ReviewRequest) -> Asked:
        """The same, asked again after `last`, which stays final."""
        return replace(self, again_of=last)


def request(
    *,
    call: ToolCall,
    run: Run,
    agent: Agent,
    asked: Asked,
    actor: Actor,
    at: datetime,
    state_hash: str,
) -> ReviewRequest:
    """Opens one request, tells the log, and writes to the teams.

    The clock of its deadline starts at `at`, the database's time of this write: when it becomes visible, not when
    somebody is notified.

    Args:
        state_hash: of the state that the call was proposed with; empty when it brought none.
    """
    none_yet = tally(asked.stored.requirement, [], version=1)
    row = ReviewRequest.objects.create(
        workspace=run.workspace,
        number=_next_number(run.workspace_id),
        kind=asked.kind,
        tool_call=call,
        run=run,
        branch_id=call.branch_id,
        agent=agent,
        version=call.version,
        digest=call.digest,
        again_of=asked.again_of,
        tool_name=call.tool_name,
        agent_name=agent.name,
        environment=run.environment,
        acts_for=reading(one.on_behalf_of for one in with_those_above(run)),
        risk=asked.risk,
        risk_rank=RANK[asked.risk],
        sentence=pack(asked.sentence),
        plain_sentence=plain(asked.sentence),
        failed_checks=asked.failed_checks,
        requirement=asked.stored.model_dump_json(),
        approvals_needed=asked.stored.requirement.approvals,
        on_timeout=asked.stored.requirement.on_timeout,
        waits_for=waits_for(asked.stored, none_yet),
        asks=asks(asked.stored, none_yet),
        deadline_at=_after(asked, at, asked.stored.requirement.deadline_seconds),
        remind_at=_after(asked, at, asked.stored.requirement.remind_seconds),
        escalate_at=_after(asked, at, first_step(asked.stored)),
    )
    _tell_repeats(row, asked)
    share(row, asked.stored.teams)
    record(
        "request.opened",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        pause_id=call.pause_id,
        request_id=row.pk,
        agent_id=agent.pk,
        subject_id=call.pk,
        data=RequestOpened(
            number=row.number,
            sentence=row.plain_sentence,
            tool=row.tool_name,
            digest=row.digest,
            policy_version=asked.stored.policy_version,
            because=asked.stored.text,
            again_of=asked.again_of.number if asked.again_of else None,
            checkpoint=state_hash,
        ),
        arguments=asked.arguments,
    )
    tell_undecided(
        call=call, undecided=asked.undecided, policy_version=asked.stored.policy_version, request_id=row.pk
    )
    tell(row, asked.stored.asked_at(0))
    return row


def first_step(stored: Stored) -> int | None:
    """After how many seconds the escalation begins; None when there is none."""
    ladder = stored.requirement.escalation
    return ladder[0].after_seconds if ladder else None


def _tell_repeats(row: ReviewRequest, asked: Asked) -> None:
    """Which equal calls people are told of; what they knew the last time they know now."""
    known = list(asked.again_of.repeats.all()) if asked.again_of else []
    if known or asked.repeats:
        row.repeats.set([*known, *ToolCall.objects.filter(pk__in=asked.repeats)])


def _after(asked: Asked, at: datetime, seconds: int | None) -> datetime | None:
    if asked.kind == ReviewRequest.Kind.UNKNOWN or seconds is None:
        return None
    return at + timedelta(seconds=seconds)


def _next_number(workspace_id: uuid.UUID) -> int:
    """The next number people use for a request; the row lock keeps two transactions apart."""
    key = Workspace._meta.pk.get_db_prep_value(workspace_id, connection)
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_NUMBER, [key])
        return int(cursor.fetchone()[0])
