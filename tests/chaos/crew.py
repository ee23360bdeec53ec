"""An agent with the processes around it, each of which may be killed and is put back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reviewhub.accounts.models import Agent
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.demo import DEMOS
from reviewhub.hosting.start import start
from reviewhub.policies.publish import publish
from reviewhub.policies.reading import policy_text
from reviewhub.policies.rules import Policy, Rule
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Pause, ToolCall
from tests.cast import Cast, make_cast
from tests.chaos.actors import Actor

PATIENCE = 300.0


@dataclass
class Crew:
    """An agent, the folder it acts on, and its workers and deciders."""

    agent: Agent
    cast: Cast
    folder: Path
    actors: list[Actor] = field(default_factory=list)
    deaths: int = 0

    def add(self, what: str, *, fault: str = "") -> None:
        """One more process."""
        self.actors.append(Actor(what, shop=self.folder, person=self.cast.bob.pk, fault=fault))

    def revive(self, fault: Callable[[], str] = str) -> None:
        """Another process for each that was killed, with the next fault."""
        for place, actor in enumerate(self.actors):
            if actor.dead:
                self.deaths += 1
                self.actors[place] = actor.again(fault())

    def kill_all(self) -> None:
        """Everything at once."""
        for actor in self.actors:
            actor.kill()

    def start(self, title: str, **given: Any) -> Run:
        """A new run."""
        return start(agent=self.agent, given=given, actor=SYSTEM, title=title)

    def wait(self, busy: Callable[[], int] | None = None) -> None:
        """Waits until every run has ended, or until nothing is `busy`."""
        end = time.monotonic() + PATIENCE
        while (busy or open_runs)():
            assert time.monotonic() < end, stuck()
            self.revive()
            time.sleep(0.05)


def make_crew(graph: str, folder: Path, *, rules: Sequence[Rule] | None = None) -> Crew:
    """The agent `graph`, a demo with its own rules when none are given, and nobody at work yet."""
    cast = make_cast()
    agent = adopt(team=cast.support, graph=graph, name=graph, owner=None, actor=SYSTEM)
    # After its tools are registered: a policy lets run what was known when it was published.
    text = policy_text(Policy(rules=tuple(DEMOS[graph].rules if rules is None else rules)))
    publish(workspace=cast.workspace, rules_text=text, note="chaos", base=0, actor=SYSTEM)
    return Crew(agent=agent, cast=cast, folder=folder)


def open_runs() -> int:
    """How many runs have not ended."""
    return Run.objects.filter(state__in=["running", "paused"]).count()


def stuck() -> str:
    """What is left over, for whoever has to find out why."""
    rows = [
        *Branch.objects.exclude(state="succeeded").values_list("run__title", "state", "lease_until"),
        *Resumption.objects.open().values_list("state", "attempts", "due_at", "lease_until", "error"),
        *ToolCall.objects.exclude(state="succeeded").values_list("tool_name", "state", "attempt"),
        *Pause.objects.filter(state="waiting").values_list("state", "open_calls", "version"),
    ]
    return "\n".join(map(str, rows))
