"""At each pause the draft in shadow is asked, too. Whatever goes wrong in it, the pause is committed already."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.gates.let_stand import asking_of, lifted_answer
from reviewhub.limits.weigh import look
from reviewhub.policies.evaluate import CallFacts, resolve, team_ids
from reviewhub.policies.rules import Answer, Call, Policy
from reviewhub.policies.shadow import shadow as ask_shadow
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.queries import candidates, plain, used_by
from reviewhub.standing.rules import covers, decisive, in_force, why_not
from reviewhub.toolcalls.models import Pause, ShadowAnswer, ToolCall

log = logging.getLogger(__name__)


def shadow(*, pause: Pause, agent: Agent, environment: str, calls: Sequence[CallFacts]) -> None:
    """Writes down what the draft in shadow would have done otherwise with the calls of a pause. Never raises."""
    try:
        beside = _Beside(pause, agent, calls)
        said = ask_shadow(
            workspace_id=pause.workspace_id,
            agent=agent,
            environment=environment,
            calls=calls,
            between=beside.answer,
        )
        if said is None or not said.found:
            return
        with transaction.atomic():
            ShadowAnswer.objects.bulk_create(
                [
                    ShadowAnswer(
                        draft_id=said.draft_id,
                        tool_call_id=beside.rows[one.at].pk,
                        change=one.change,
                        rule=one.rule,
                        asks=one.asks,
                    )
                    for one in said.found
                ]
            )
    except Exception:
        log.exception("the draft in shadow could not be asked about pause %s", pause.pk)


class _Beside:
    """Limits and standing approvals, as they are asked about the calls of a pause that is stored: what these took or
    used does not count against them. Read only when a draft is in shadow."""

    def __init__(self, pause: Pause, agent: Agent, calls: Sequence[CallFacts]) -> None:
        self._pause, self._agent, self._calls = pause, agent, calls
        self._rows: list[ToolCall] | None = None
        self._standing: list[StandingApproval] | None = None

    @property
    def rows(self) -> list[ToolCall]:
        """The calls of the pause, in their order."""
        if self._rows is None:
            rows = ToolCall.objects.filter(pause=self._pause).select_related("run")
            self._rows = list(rows.order_by("position"))
        return self._rows

    def answer(self, at: int, policy: Policy | None, call: Call, answer: Answer) -> Answer:
        """The answer with the limits of that policy, and lifted where somebody's approval stands."""
        teams = team_ids(self._agent.workspace_id, [answer], agent=self._agent)
        resolved = resolve(answer, number=0, agent=self._agent, teams=teams)
        row = self.rows[at]
        resolved = look(
            policy=policy, agent=self._agent, call=call, answer=resolved, again=row.pk, on_record=True
        ).answer
        if why_not(resolved):
            return resolved
        asking = asking_of(self._calls[at], agent=self._agent, run=row.run, digest=row.digest)
        used = used_by([row.pk]).get(row.pk)
        for one in self._candidates(used.standing if used else None):
            if one.tool_name != call.tool or (one.team_id,) != resolved.team_ids:
                continue
            parts = in_force if used is not None and used.standing_id == one.pk else covers
            if decisive(list(parts(plain(one), asking, at=now()))) is None:
                return replace(
                    lifted_answer(resolved, plain(one), use=one.uses), rule=f"#{one.request_number}"
                )
        return resolved

    def _candidates(self, used: StandingApproval | None) -> list[StandingApproval]:
        """Those in force, and the one that let the call run, which may be used up by that."""
        if self._standing is None:
            self._standing = candidates(self._agent.pk, [facts.tool for facts in self._calls])
        more = [used] if used is not None and used not in self._standing else []
        return [*self._standing, *more]
