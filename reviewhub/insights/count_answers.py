"""Counts the requests that became final on one day, by slice, and what people changed in them."""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db.models import F

from reviewhub.insights.days import ONE, start_of
from reviewhub.insights.models import Answered, EditedPath, Slice
from reviewhub.insights.sketch import sketch
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import CallVersion

BY_PEOPLE = ("approved", "edited", "rejected", "responded")
OUTCOMES = (*BY_PEOPLE, "expired", "withdrawn", "cancelled")
UNKNOWN = ("happened", "did_not_happen", "skipped")
MOST_TEAMS = 20
MOST_PATHS = 50
_PATH = 200
_IDS_AT_ONCE = 500

Key = tuple[uuid.UUID, uuid.UUID, str, str, str]
"""Workspace, agent, tool, rule, teams: what makes a slice."""


@dataclass
class Tally:
    """The requests of one slice."""

    states: Counter[str] = field(default_factory=Counter)
    escalated: int = 0
    waits: list[float] = field(default_factory=list)
    edited: list[uuid.UUID] = field(default_factory=list)
    """The calls that people changed and let run."""

    def add(self, row: tuple[Any, ...]) -> None:
        """One request: state, creation, end, steps of its escalation, call."""
        state, created, decided, escalated, call = row
        self.states[state] += 1
        if state in BY_PEOPLE:
            self.waits.append(max(0.0, (decided - created).total_seconds() * 1000))
        if state in OUTCOMES and escalated:
            self.escalated += 1
        if state == "edited":
            self.edited.append(call)


def count_answers(day: date) -> tuple[list[Answered], list[EditedPath]]:
    """The rows of a day. Makes the slices that were not there yet."""
    tallies: dict[Key, Tally] = defaultdict(Tally)
    for key, row in _rows(start_of(day)):
        tallies[key].add(row)
    slices = _slices(tallies)
    answered = [_answered(slices[key], day, tally) for key, tally in tallies.items()]
    edited = {call: key for key, tally in tallies.items() for call in tally.edited}
    paths = Counter((edited[call], path) for call, path in _paths(list(edited)))
    return answered, [
        EditedPath(workspace_id=key[0], slice_id=slices[key].pk, day=day, path=path, calls=calls)
        for (key, path), calls in paths.items()
    ]


def rule_and_teams(requirement: str) -> tuple[str, str]:
    """The rule that asked and the teams that are or were asked, as a slice has them."""
    stored = json.loads(requirement)
    asked = {*stored.get("teams", ()), *(one.get("team") for one in stored.get("stand_ins", ()))} - {None}
    return str(stored.get("rule", ""))[:200], " ".join(sorted(map(str, asked))[:MOST_TEAMS])


def _rows(since: datetime) -> Iterator[tuple[Key, tuple[Any, ...]]]:
    rows = ReviewRequest.objects.exclude(state="pending").filter(
        decided_at__gte=since, decided_at__lt=since + ONE
    )
    fields = ("workspace_id", "agent_id", "tool_name", "requirement")
    counted = ("state", "created_at", "decided_at", "escalated", "tool_call_id")
    known: dict[str, tuple[str, str]] = {}
    for workspace, agent, tool, requirement, *rest in rows.values_list(*fields, *counted).iterator():
        if requirement not in known:
            known[requirement] = rule_and_teams(requirement)
        yield (workspace, agent, tool, *known[requirement]), tuple(rest)


def _slices(tallies: dict[Key, Tally]) -> dict[Key, Slice]:
    made = [
        Slice(workspace_id=key[0], agent_id=key[1], tool_name=key[2], rule=key[3], teams=key[4])
        for key in tallies
    ]
    agents = {key[1] for key in tallies}

    def known() -> dict[Key, Slice]:
        rows = Slice.objects.filter(agent_id__in=agents)
        return {(row.workspace_id, row.agent_id, row.tool_name, row.rule, row.teams): row for row in rows}

    found = known()
    missing = [
        one
        for one in made
        if (one.workspace_id, one.agent_id, one.tool_name, one.rule, one.teams) not in found
    ]
    if missing:
        Slice.objects.bulk_create(missing, ignore_conflicts=True)
        found = known()
    return found


def _answered(of: Slice, day: date, tally: Tally) -> Answered:
    return Answered(
        workspace_id=of.workspace_id,
        slice=of,
        day=day,
        **{state: tally.states[state] for state in (*OUTCOMES, *UNKNOWN)},
        escalated=tally.escalated,
        waited_ms=round(sum(tally.waits)),
        waits=sketch(tally.waits),
    )


def _paths(calls: list[uuid.UUID]) -> Iterator[tuple[uuid.UUID, str]]:
    """Each place that people changed in each call, once."""
    for start in range(0, len(calls), _IDS_AT_ONCE):
        rows = CallVersion.objects.filter(
            tool_call_id__in=calls[start : start + _IDS_AT_ONCE],
            author_kind="person",
            version__lte=F("tool_call__version"),
        )
        found: dict[uuid.UUID, set[str]] = defaultdict(set)
        for call, changes in rows.values_list("tool_call_id", "changes"):
            found[call] |= {place(str(one.get("path", ""))) for one in json.loads(changes)}
        for call, paths in found.items():
            yield from ((call, path) for path in sorted(paths)[:MOST_PATHS])


def place(path: str) -> str:
    """A JSON pointer as figures have it: every position in a list is the same place, and long ones are cut."""
    parts = ["*" if one.isdecimal() or one == "-" else one for one in path.split("/")]
    return "/".join(parts)[:_PATH]
