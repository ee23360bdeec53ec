"""Calls that somebody would have to approve and that a standing approval covers run at once."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.gates.rejected import rejections
from reviewhub.policies.evaluate import CallFacts, Resolved, call_of
from reviewhub.runs.models import Run
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.queries import candidates, plain, used_by
from reviewhub.standing.rules import Asking, Remembered, covers, decisive, in_force, lifted_text, why_not
from reviewhub.toolcalls.likeness import likeness
from reviewhub.toolcalls.locks import Locked, lock
from reviewhub.toolcalls.today import Today


def let_stand(
    *, run: Run, agent: Agent, prepared: Sequence[Prepared]
) -> tuple[list[Prepared], list[StandingApproval | None]]:
    """The calls, lifted where a standing approval covers them, and which one that was.

    What a call may use is locked, in order, until the transaction ends: as many pauses at once use one as often as it
    may be used, and the calls of one pause are counted one after the other.
    """
    wanted = [one for one in prepared if not why_not(one.answer)]
    rows = candidates(agent.pk, [one.proposal.tool_name for one in wanted], to_use=True) if wanted else []
    lifted = list(prepared)
    by: list[StandingApproval | None] = [None for _ in prepared]
    if not rows:
        return lifted, by
    said = rejections(agent_id=agent.pk, alike={one.proposal.likeness for one in wanted})
    at, uses = now(), {row.pk: row.uses for row in rows}
    for place, one in enumerate(prepared):
        if why_not(one.answer) or one.proposal.likeness in said:
            continue
        asking = asking_of(one.facts, agent=agent, run=run, digest=one.proposal.digest)
        row = _first(rows, uses, one, asking, at)
        if row is not None:
            uses[row.pk] += 1
            answer = lifted_answer(one.answer, plain(row), use=uses[row.pk])
            lifted[place], by[place] = with_answer(one, answer), row
    return lifted, by


def lapsed(locked: Locked, found: Today) -> str | None:
    """Why the standing approval that let the locked call run would not today, in words; empty where none did.

    None while it still would: then it is held until the transaction ends.
    """
    call = locked.call
    used = used_by([call.pk]).get(call.pk)
    if used is None:
        return ""
    row = lock(StandingApproval.objects.filter(pk=used.standing_id)).get()
    if row.revoked_at is not None:
        because = f": {row.revoked_because}" if row.revoked_because else "."
        return f"Standing approval #{row.request_number} was revoked by {row.revoked_by_name}{because}"
    asking = asking_of(found.facts, agent=call.agent, run=call.run, digest=call.digest)
    part = decisive(list(in_force(plain(row), asking, at=now())))
    if part is not None:
        return f"Standing approval #{row.request_number} does not cover it any more: {part.why}."
    alike = likeness(tool=call.tool_name, arguments=found.arguments)
    is_free = (
        not why_not(found.answer)
        and (row.team_id,) == found.answer.team_ids
        and not rejections(agent_id=call.agent_id, alike={alike})
    )
    return None if is_free else f"Standing approval #{row.request_number} does not suffice any more."


def asking_of(
    facts: CallFacts, *, agent: Agent, run: Run | None, digest: str, environment: str = ""
) -> Asking:
    """The call as standing approvals are asked about it; without a run, one that nobody makes."""
    where = run.environment if run is not None else environment
    return Asking(
        call=call_of(facts, agent=agent, environment=where, tools=frozenset()),
        schema_fingerprint=facts.schema_fingerprint,
        digest=digest,
        run_id=run.pk if run is not None else None,
    )


def lifted_answer(answer: Resolved, one: Remembered, *, use: int) -> Resolved:
    """The answer that a standing approval gives in place of people."""
    return replace(
        answer,
        action="allow",
        layer="standing",
        rule=f"#{one.number}",
        position=None,
        text=lifted_text(one, use=use),
        requirement=None,
        team_ids=(),
        step_ids=(),
        held_because=(),
    )


def _first(
    rows: Sequence[StandingApproval],
    uses: dict[uuid.UUID, int],
    one: Prepared,
    asking: Asking,
    at: datetime,
) -> StandingApproval | None:
    for row in rows:
        if row.tool_name != one.proposal.tool_name or (row.team_id,) != one.answer.team_ids:
            continue
        known = replace(plain(row), uses=uses[row.pk])
        if decisive(list(covers(known, asking, at=at))) is None:
            return row
    return None
