"""What a step may do to the world, so that a step that starts again does nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical, exact

from .calls import Calls
from .errors import GraphError, ReplayDiverged
from .models import Message, Model
from .plans import Plans
from .results import ToolResult
from .state import GivenTypes, dump
from .store import Effect, Kept, Proposal, Snapshot, Store
from .tools import Tool

S = TypeVar("S", bound=BaseModel)
MAX_NAME = 100


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One of several calls that a step asks for at once (`ctx.tools`)."""

    tool: str
    arguments: Mapping[str, Any]
    reason: str = ""
    evidence: Sequence[dict[str, Any]] = ()
    checks: Sequence[dict[str, Any]] = ()
    facts: Mapping[str, Any] | None = None
    allowed_decisions: Sequence[str] | None = None
    deadline: str | None = None


class Context(Generic[S]):
    """Given to a step together with the state.

    Everything is found again by its place: which snapshot the step started from, what it asked for, and how often
    it had asked for such a thing before. A replay that asks for something else in the same place raises ReplayDiverged.
    """

    def __init__(
        self,
        *,
        store: Store,
        tools: Mapping[str, Tool[Any]],
        model: Model | None,
        state: S,
        snapshot: Snapshot,
        types: GivenTypes = (),
    ) -> None:
        """Made by the engine, one per step."""
        self._store = store
        self._tools = tools
        self._model = model
        self._state = state
        self._calls = Calls(store, tools)
        self._types = types
        self.snapshot = snapshot
        self.plan = Plans(store, self._recorded)
        self._occurrences: Counter[str] = Counter()

    def tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        effect: Effect | None = None,
        reason: str = "",
        evidence: Sequence[dict[str, Any]] = (),
        checks: Sequence[dict[str, Any]] = (),
        facts: Mapping[str, Any] | None = None,
        allowed_decisions: Sequence[str] | None = None,
        deadline: str | None = None,
    ) -> ToolResult:
        """Asks for a tool call and runs it once it is allowed.

        Args:
            effect: a stricter one than the tool declares.
            reason, evidence, checks: shown to whoever decides.
            facts: what the action relies on; compared again when it runs.
            deadline: ISO 8601 duration in which people have to decide.
        """
        ask = Ask(
            tool=name,
            arguments=arguments,
            reason=reason,
            evidence=evidence,
            checks=checks,
            facts=facts,
            allowed_decisions=allowed_decisions,
            deadline=deadline,
        )
        return self._settle([ask], effect)[0]

    def tools(self, asks: Sequence[Ask]) -> list[ToolResult]:
        """Asks for several calls at once, each with its own answer; they run in order when all are answered."""
        return self._settle(asks, None)

    def gate(self, name: str, subject: Mapping[str, Any], *, reason: str = "") -> ToolResult:
        """Waits until people (or policy) let the run go on; runs nothing."""
        return self.tool(f"rh.gate/{name}", subject, effect="read", reason=reason)

    def ask_person(self, question: str, *, reason: str = "") -> ToolResult:
        """Puts a question to people; `value` of the result is the answer."""
        return self.tool(
            "rh.ask",
            {"question": question},
            effect="read",
            reason=reason,
            allowed_decisions=["respond", "reject"],
        )

    def model(self, messages: list[Message]) -> Message:
        """The model's next message; a replay gets the one of the first time."""
        if self._model is None:
            raise GraphError("this agent has no model")
        model = self._model
        answer: Message = self.record(f"model:{model.name}", lambda: model.complete(messages), of=messages)
        return answer

    def record(self, key: str, make: Callable[[], Any], *, of: Any = None) -> Any:
        """What `make()` returned the first time; for whatever a replay must not do or draw again.

        Args:
            key: names the place; the same key may be used many times in a step.
            make: returns anything that `exact.pack` takes.
            of: what the result depends on; a replay with another value raises ReplayDiverged.
        """
        return self._recorded(key, lambda place: make(), of=of)

    def _recorded(self, key: str, make: Callable[[str], Any], *, of: Any) -> Any:
        place = self._place(key)
        digest = canonical.body_digest(exact.pack(of, types=self._types))
        kept = self._store.kept(place)
        if kept is None:
            kept = Kept(digest=digest, value=canonical.dumps(exact.pack(make(place), types=self._types)))
            self._store.keep(place, kept)
        elif kept.digest != digest:
            raise ReplayDiverged(f"{place} was recorded for other arguments")
        return exact.unpack(canonical.reread(kept.value), types=self._types, numbers=canonical.plain)

    def checkpoint(self) -> None:
        """Saves the state now; after a crash the step starts from its top with this state."""
        self.save(node=self.snapshot.node)

    def save(self, *, node: str) -> Snapshot:
        """Saves the state with `node` as the step to run next; the engine's own end of a step."""
        text = dump(self._state, types=self._types)
        self.snapshot = self._store.save(node=node, step=self.snapshot.step + 1, state=text)
        self._occurrences.clear()
        return self.snapshot

    def _settle(self, asks: Sequence[Ask], effect: Effect | None) -> list[ToolResult]:
        place = self._place("pause")
        proposals = [self._proposal(place, number, ask, effect) for number, ask in enumerate(asks)]
        return self._calls.settle(key=place, snapshot=self.snapshot, proposals=proposals)

    def _proposal(self, place: str, number: int, ask: Ask, effect: Effect | None) -> Proposal:
        tool = self._tools.get(ask.tool)
        if tool is None and not ask.tool.startswith("rh."):
            raise GraphError(f"this agent has no tool {ask.tool}")
        return Proposal(
            key=f"{place}.{number}",
            tool=ask.tool,
            arguments=canonical.dumps(dict(ask.arguments)),
            effect=effect or (tool.effect if tool else "once"),
            time_limit=tool.time_limit if tool else 300,
            reason=ask.reason,
            evidence=ask.evidence,
            checks=ask.checks,
            facts=dict(ask.facts or {}),
            allowed_decisions=ask.allowed_decisions,
            deadline=ask.deadline,
        )

    def _place(self, what: str) -> str:
        self._occurrences[what] += 1
        where = self.snapshot
        return f"{where.step}/{where.node[:MAX_NAME]}/{what[:MAX_NAME]}/{self._occurrences[what]}"
