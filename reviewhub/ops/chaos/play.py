"""Runs of an agent while its workers die, a person who approves everything, and the report at the end."""

from __future__ import annotations

import random
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q
from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent, Member, Role, Team, Workspace
from reviewhub.core import faults
from reviewhub.core.actors import SYSTEM, Actor
from reviewhub.core.errors import Conflict
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.goodput.queries import goodput_of_agent, spared_from_zero
from reviewhub.hosting.goodput.rules import Spent
from reviewhub.hosting.graphs import graph_of
from reviewhub.hosting.start import start
from reviewhub.ops.chaos.journal import Journal, Witnessed
from reviewhub.ops.chaos.rules import Entry, Report, compare
from reviewhub.ops.chaos.worker import Worker
from reviewhub.ops.first_start import add_person
from reviewhub.policies.defaults import NOTE, first_policy
from reviewhub.policies.publish import publish
from reviewhub.reviews.assurance import word_needed
from reviewhub.reviews.decide import decide
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall

NOT_A_WORKERS = ("decide.", "prune.", "erase.", "blobs.")
POINTS = tuple(point for point in faults.POINTS if not point.startswith(NOT_A_WORKERS))
TIMES = (1, 2, 3)
WORKERS = 2
LOOK = 0.05  # seconds
STRIKES = 0.03  # how likely a worker is killed in between at each look


class Stuck(Exception):
    """The runs did not end in time."""


@dataclass(kw_only=True)
class Play:
    """What is played: an agent, and how hard."""

    graph: str
    given: dict[str, Any]
    kills: int
    at_once: int
    points: Sequence[str]
    dice: random.Random
    patience: float
    faults: Counter[str] = field(default_factory=Counter)
    workers: list[Worker] = field(default_factory=list)

    def run(self) -> Report:
        """Plays until so many workers died and every run has ended.

        Raises:
            Invalid: there is no such graph, or the input does not fit it.
            Stuck: a run did not end in time.
        """
        journal = Journal(settings.VAR / "effects.jsonl")
        journal.watch(graph_of(self.graph))
        agent, person = self._people()
        armed = cycle(f"{point}:kill:{number}" for number in TIMES for point in self.points)
        until = time.monotonic() + self.patience
        start(agent=agent, given=self.given, actor=SYSTEM)
        self.workers = [Worker(next(armed)) for _ in range(WORKERS)]
        try:
            while (killed := self.faults.total()) < self.kills or self._open():
                if time.monotonic() > until:
                    raise Stuck(f"{killed} workers died, {self._open()} runs have not ended")
                if killed < self.kills:
                    self._keep_busy(agent)
                    self._strike()
                self._revive(next(armed) if killed < self.kills and self.dice.random() < 0.7 else "")
                _answer(person, journal.read())
                time.sleep(LOOK)
        finally:
            for worker in self.workers:
                worker.strike()
        return self._report(agent, journal.read())

    @transaction.atomic
    def _people(self) -> tuple[Agent, Member]:
        workspace = Workspace.objects.create(slug="chaos", name="Chaos")
        team = Team.objects.create(workspace=workspace, name="Everybody")
        add_person(workspace, team, name="Reviewer", role=Role.REVIEWER)
        publish(workspace=workspace, rules_text=first_policy(), note=NOTE, base=0, actor=SYSTEM)
        agent = adopt(team=team, graph=self.graph, name=self.graph, owner=None, actor=SYSTEM)
        return agent, Member.objects.select_related("person").get(workspace=workspace)

    def _open(self) -> int:
        return Run.objects.filter(state__in=["running", "paused"]).count()

    def _keep_busy(self, agent: Agent) -> None:
        for _ in range(self.at_once - self._open()):
            start(agent=agent, given=self.given, actor=SYSTEM)

    def _strike(self) -> None:
        if self.dice.random() < STRIKES:
            self.dice.choice(self.workers).strike()

    def _revive(self, fault: str) -> None:
        for place, worker in enumerate(self.workers):
            if worker.is_dead:
                self.faults[worker.died_of] += 1
                self.workers[place] = Worker(fault)

    def _report(self, agent: Agent, seen: Witnessed) -> Report:
        found = goodput_of_agent(agent, days=1)
        zero = sum((spared_from_zero(run) for run in Run.objects.all()), Spent())
        return Report(
            faults=self.faults,
            runs=Counter(Run.objects.values_list("state", flat=True)),
            books=compare(_entries(), begun=seen.begun, done=seen.done),
            useful=found.spent.useful,
            redone=found.spent.replay,
            redone_from_zero=zero.replay,
            recovery=found.spent.recovery,
            progress=found.spent.progress,
            tokens_again_from_zero=zero.paid,
            tokens_spared=found.spent.spared,
        )


def _entries() -> list[Entry]:
    asked = dict(
        ReviewRequest.objects.filter(kind=ReviewRequest.Kind.UNKNOWN)
        .values_list("tool_call")
        .annotate(asked=Count("id"))
    )
    # A gate runs nothing: the permit is all there is to it.
    calls = ToolCall.objects.exclude(Q(tool_name__startswith="rh."))
    return [
        Entry(
            key=call.idempotency_key,
            tool=call.tool_name,
            effect=call.effect,
            state=call.state,
            asked=asked.get(call.pk, 0),
        )
        for call in calls
    ]


def _answer(person: Member, seen: Witnessed) -> None:
    """The person approves what waits; what became of a lost call is looked up where the tool acts."""
    by = Actor(kind="person", id=person.pk, name=person.person.name, source="page")
    for row in ReviewRequest.objects.filter(state="pending").order_by("number")[:20]:
        tree = {"version": row.version, "digest": row.digest, **_verdict(row, seen)}
        try:
            decide(
                request_id=row.pk,
                member=person,
                body=wire.DecideBody.from_text(canonical.dumps(tree)),
                body_digest=canonical.body_digest(tree),
                key=secrets.token_hex(8),
                actor=by,
            )
        except Conflict:
            continue  # The tool's own word was quicker.


def _verdict(row: ReviewRequest, seen: Witnessed) -> dict[str, Any]:
    if row.kind != ReviewRequest.Kind.UNKNOWN:
        if row.tool_call.tool_name == "rh.ask":
            return {"type": "respond", "value": "Go on."}
        needed = Stored.model_validate_json(row.requirement).requirement
        word = word_needed(row, needed, sentence=row.sentence, risk=row.risk)
        return {"type": "approve", **({"confirm": word} if word else {})}
    key = row.tool_call.idempotency_key
    if seen.done[key]:
        return {"type": "happened", "value": canonical.plain(canonical.reread(seen.results[key]))}
    return {"type": "skip" if seen.begun[key] else "did_not_happen"}
