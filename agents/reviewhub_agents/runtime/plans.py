"""The plan of a branch as a step writes it: so that a step that starts again writes no second version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from . import messages
from .calls import Act
from .errors import ApprovalNeeded, PlanChanged, PlanRefused
from .replan import Replan, Why
from .results import ToolResult
from .store import Call, Intent, Permit, Plan, PlanStep, Signals, Store


class Record(Protocol):
    """How the context keeps results: `make` gets the place, once; a replay gets what was kept."""

    def __call__(self, key: str, make: Callable[[str], Any], *, of: Any) -> Any:
        """What `make` returned the first time."""


class Asks(Protocol):
    """How the context asks for what is no tool."""

    def __call__(self, name: str, arguments: str, *, act: Act | None = None) -> ToolResult:
        """Waits for people where it has to, and does it once."""


class Plans:
    """`ctx.plan`: what the agent intends, for people to see. Each act is done once, however often its step starts."""

    def __init__(self, store: Store, record: Record, act: Asks, replan: Replan | None) -> None:
        """Made by the context."""
        self._replan = replan
        self._store = store
        self._record = record
        self._act = act

    def now(self) -> Plan | None:
        """The plan in force, as it was when the step asked first; None when there is none."""
        tree = self._record("plan.now", lambda place: _tree(self._store.plan()), of=None)
        return None if tree is None else _plan(tree)

    def why(self) -> Why | None:
        """Why there has to be another plan (`Graph(replan=…)`), as it was when the step asked first; None when the
        plan in force holds, or there is none."""
        seen = self._record("plan.why", lambda place: asdict(self._store.signals()), of=None)
        return None if self._replan is None else self._replan.why(Signals(**seen))

    def write(
        self,
        steps: Sequence[PlanStep],
        *,
        assumptions: Mapping[str, str] | None = None,
        because: str = "",
        failures: int | None = None,
        contradicted: str | None = None,
        why: Why | None = None,
        base: int | None = None,
    ) -> int:
        """Writes the next version of the plan; its number.

        Args:
            assumptions: what it takes for granted, id → text.
            because: why it changed, in words.
            failures: how many there were in a row, if that is why.
            contradicted: the id of the assumption that does not hold, if that is why.
            why: all that at once, as `why()` says it.
            base: the version it was made from (0 for none yet); left out, it replaces whatever is in force.

        Where policy wants people to approve the plan, the step waits for them; they may also change it.

        Raises:
            PlanChanged: `base` is not in force: a person restored another one.
            PlanRefused: people, or policy, refused it; the version before is in force.
        """
        given = why or Why(failures=failures, contradicted=contradicted)
        intent = Intent(
            steps=tuple(steps),
            assumptions=dict(assumptions or {}),
            because=because or given.text,
            failures=given.failures,
            contradicted=given.contradicted,
            asked=given.asked,
        )
        written: int | dict[str, str] = self._record(
            "plan.write", lambda place: self._try(place, intent, base), of=asdict(intent)
        )
        return written if isinstance(written, int) else self._asked(written["ask"])

    def _try(self, place: str, intent: Intent, base: int | None) -> int | dict[str, str]:
        """The number of the version; or what people have to be asked, in which form it stays for a replay."""
        try:
            return self._store.write_plan(key=place, intent=intent, base=base)
        except ApprovalNeeded as needed:
            return {"ask": needed.arguments}

    def _asked(self, arguments: str) -> int:
        said = self._act("rh.plan", arguments, act=self._approved)
        if said.outcome == "failed":
            raise PlanChanged(said.error)
        if said.outcome != "done":
            raise PlanRefused(f"{said.by}: {said.message or said.decision}" if said.by else said.message)
        version: int = said.value["version"]
        return version

    def _approved(self, call: Call, permit: Permit) -> dict[str, int]:
        base, intent = messages.planned(permit.arguments)
        key = f"call/{call.id}"
        return {"version": self._store.write_plan(key=key, intent=intent, base=base, call=call.id)}

    def mark(self, step: str, status: str, note: str = "") -> None:
        """Says how far a step is: pending, running, done, failed or skipped.

        Raises:
            PlanChanged: the plan in force has no such step.
            GraphError: the step cannot come there from where it is.
        """
        self._record(
            "plan.mark",
            lambda place: self._store.mark_step(step=step, status=status, note=note),
            of=[step, status, note],
        )


def _tree(plan: Plan | None) -> Any:
    return None if plan is None else asdict(plan)


def _plan(tree: Any) -> Plan:
    steps = tuple(_step(each) for each in tree["steps"])
    return Plan(version=tree["version"], steps=steps, assumptions=tree["assumptions"])


def _step(tree: Any) -> PlanStep:
    inner = tuple(_step(each) for each in tree["steps"])
    return PlanStep(id=tree["id"], title=tree["title"], status=tree["status"], steps=inner)
