"""Several rules ask for sign-off of one call: what meets all of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from reviewhub.policies.requirement import VERDICTS, AskedStage, Requirement, Step


def joined(wanted: Sequence[Requirement], *, least: Sequence[Requirement] = ()) -> Requirement:
    """What meets all of these, as strict in each respect as the strictest. Silence is a no, as in every guardrail.

    Every team that one of them names is asked, for the most approvals that one of them wants of it. Who names no
    team wants so many approvals in all: the agent's own team is asked for what the named ones leave over.

    Args:
        least: those that cannot say more than how many approvals they want, and by when (the last line, limits without
            a team): that they know no escalation and no second rejection is nobody's wish, so it takes none away.
    """
    asked = (*wanted, *least)
    if not wanted:
        wanted, least = least, ()
    first, *others = wanted
    if not others and not least:
        return first.model_copy(update={"on_timeout": "deny"})
    locked = dict.fromkeys(path for one in wanted for path in one.locked_fields)
    verdicts = tuple(
        verdict for verdict in VERDICTS if all(verdict in one.allowed_decisions for one in wanted)
    )
    stages = _stages(asked)
    return Requirement(
        stages=stages,
        deny_threshold=min(one.deny_threshold for one in wanted),
        deadline_seconds=_least(one.deadline_seconds for one in asked),
        on_timeout="deny",
        allowed_decisions=verdicts or ("reject",),
        four_eyes=any(one.four_eyes for one in wanted),
        locked_fields=tuple(locked),
        sign_in_minutes=_least(one.sign_in_minutes for one in wanted),
        typed_confirmation=any(one.typed_confirmation for one in wanted),
        remind_seconds=_least(one.remind_seconds for one in wanted),
        escalation=_ladder(wanted, [stage.team for stage in stages]),
    )


def _least(given: Iterable[int | None]) -> int | None:
    return min((one for one in given if one is not None), default=None)


def _stages(wanted: Sequence[Requirement]) -> tuple[AskedStage, ...]:
    """The stages of all, each team once, in the latest of its turns."""
    turn: dict[str, int] = {}
    approvals: dict[str, int] = {}
    in_all, own = 0, ""
    for one in wanted:
        if one.stages[0].own:
            own, in_all = one.team, max(in_all, one.approvals)
            continue
        named: Counter[str] = Counter()
        for at, stage in zip(one.turns, one.stages, strict=True):
            named[stage.team] += stage.approvals
            turn[stage.team] = max(turn.get(stage.team, 0), at)
        for team, many in named.items():
            approvals[team] = max(approvals.get(team, 0), many)
    left = in_all - sum(approvals.values())
    is_own = {own} - approvals.keys()
    if left > 0:
        approvals[own] = approvals.get(own, 0) + left
        turn.setdefault(own, 0)
    ordered = sorted(approvals, key=lambda team: turn[team])
    together = [False, *(turn[before] == turn[after] for before, after in pairwise(ordered))]
    return tuple(
        AskedStage(team=team, approvals=approvals[team], together=beside, own=team in is_own)
        for team, beside in zip(ordered, together, strict=True)
    )


def _ladder(wanted: Sequence[Requirement], teams: Sequence[str]) -> tuple[Step, ...]:
    """The steps of all. One stands in for a team only where everybody who asks that team lets it, and then as late as
    the last of them says: a guardrail's own team cannot be got around by the ladder of another."""
    found: dict[tuple[int, str | None], list[str]] = {}
    for team in teams:
        asking = [one for one in wanted if any(stage.team == team for stage in one.stages)]
        ladders = [
            {
                step.team: step.after_seconds
                for step in reversed(one.escalation)
                if team in (step.for_teams or one.teams())
            }
            for one in asking
        ]
        for to in dict.fromkeys(to for ladder in ladders for to in ladder):
            if all(to in ladder for ladder in ladders):
                found.setdefault((max(ladder[to] for ladder in ladders), to), []).append(team)
    return tuple(
        Step(after_seconds=after, team=to, managers=to is None, for_teams=tuple(stood_in_for))
        for (after, to), stood_in_for in sorted(found.items(), key=lambda one: (one[0][0], one[0][1] or ""))
    )
