"""What stands beside the text of a policy, in a backtest: its limits, and standing approvals.

Both versions are counted from the beginning of the backtest, each for itself, as if they had been in force all along. A
call takes its part of a limit where the version lets it run, and where it ran in fact or still may. A limit's time is
counted in hundredths, so that what is remembered stays small.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import replace
from datetime import datetime

from reviewhub.insights.recorded import Recorded
from reviewhub.insights.rules import Tally
from reviewhub.limits import rules as limits
from reviewhub.policies.compare import RUNS
from reviewhub.policies.limit import Limit
from reviewhub.policies.rules import Answer, Call, Policy, tighten
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.queries import everything, plain
from reviewhub.standing.rules import Asking, Remembered, covers, decisive, why_not

PARTS = 100


class Beside:
    """Remembers in the figures what was taken and used, so that another worker goes on with it."""

    def __init__(self, workspace_id: uuid.UUID, tally: Tally) -> None:
        self._tally = tally
        self._standing: dict[tuple[uuid.UUID, str], list[tuple[StandingApproval, Remembered]]] = defaultdict(
            list
        )
        for row in everything(workspace_id):
            self._standing[row.agent_id, row.tool_name].append((row, plain(row)))

    def answer(
        self, side: str, policy: Policy | None, call: Call, answer: Answer, recorded: Recorded
    ) -> Answer:
        """The answer of one version, tightened by its limits and lifted by what stood when the call was made."""
        counted = limits.about(policy.limits, call) if policy is not None and answer.action != "deny" else []
        found = [
            limits.weighed(limit, call, used=self._used(side, limit, recorded.at, recorded.agent.pk))
            for limit in counted
        ]
        if passed := [one for one in found if one.why]:
            because = "; ".join(one.why for one in passed)
            asked = [limits.asks(one) for one in passed]
            answer = tighten(answer, asked, call, layer="limit", because=because)
        answer = self._lifted(side, call, answer, recorded)
        if answer.action in RUNS or (answer.action == "require" and recorded.state in limits.HOLDING):
            for one in found:
                self._take(side, one.limit, recorded.at, recorded.agent.pk, one.units)
        return answer

    def _used(self, side: str, limit: Limit, at: datetime, agent_id: uuid.UUID) -> int:
        parts = self._tally.taken.get(_key(side, limit, agent_id), {})
        first = _part(limit, at) - PARTS
        return sum(units for part, units in parts.items() if int(part) > first)

    def _take(self, side: str, limit: Limit, at: datetime, agent_id: uuid.UUID, units: int) -> None:
        key, now = _key(side, limit, agent_id), _part(limit, at)
        kept = {part: one for part, one in self._tally.taken.get(key, {}).items() if int(part) > now - PARTS}
        kept[str(now)] = kept.get(str(now), 0) + units
        self._tally.taken[key] = kept

    def _lifted(self, side: str, call: Call, answer: Answer, recorded: Recorded) -> Answer:
        standing = self._standing.get((recorded.agent.pk, call.tool), ())
        if not standing or answer.requirement is None or why_not(answer):
            return answer
        asking = Asking(
            call=call,
            schema_fingerprint=recorded.facts.schema_fingerprint,
            digest=recorded.digest,
            run_id=recorded.run_id,
        )
        for row, one in standing:
            if row.created_at >= recorded.at or answer.requirement.teams() != [row.team.name]:
                continue
            key = f"{side}\n{row.pk}"
            revoked = row.revoked_at is not None and row.revoked_at <= recorded.at
            then = replace(one, uses=self._tally.uses.get(key, 0), is_revoked=revoked)
            if decisive(list(covers(then, asking, at=recorded.at))) is None:
                self._tally.uses[key] = then.uses + 1
                return replace(
                    answer,
                    action="allow",
                    layer="standing",
                    rule=f"#{row.request_number}",
                    position=None,
                    requirement=None,
                    held_because=(),
                )
        return answer


def _key(side: str, limit: Limit, agent_id: uuid.UUID) -> str:
    return f"{side}\n{limit.name}\n{agent_id if limit.per == 'agent' else ''}"


def _part(limit: Limit, at: datetime) -> int:
    """In which hundredth of the limit's time, counted from long ago, an instant is."""
    return int(at.timestamp() * PARTS / limit.window_seconds)
