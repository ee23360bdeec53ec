"""Where a step asks for something: found again by its place when it was asked for before, and kept when it was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical, exact

from .calls import Act
from .errors import GraphError, ReplayDiverged
from .results import ToolResult
from .store import Call, Effect, Kept, Proposal, Snapshot
from .verifiers import Judged, Verifier
from .verifiers import ask as verify
from .work import Work

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


class Places(Generic[S]):
    """What a step asked for, by place: the step of the run, what for, and how often it had asked for such a thing.

    A replay that asks for something else in the same place raises ReplayDiverged.
    """

    def __init__(self, work: Work[S], state: S, *, part: str = "", ordered: bool = True) -> None:
        """Made by the engine, one per step.

        Args:
            part: of a step whose parts run at the same time.
            ordered: whether the step asks for one thing after the other.
        """
        self._work = work
        self._state = state
        self._part = part
        self._ordered = ordered
        self._occurrences: Counter[str] = Counter()

    @property
    def snapshot(self) -> Snapshot:
        """The state at which this step began, and what the step is called; without id while it is not saved."""
        return self._work.head.at

    def _recorded(self, key: str, make: Callable[[str], Any], *, of: Any) -> Any:
        place, digest, kept = self.look(key, of)
        return self.value(kept or self.keep(place, digest, make(place)))

    def look(self, key: str, of: Any) -> tuple[str, str, Kept | None]:
        """The next place for `key`, the digest of what is asked for there, and what was recorded.

        Raises:
            ReplayDiverged: it was recorded for something else.
        """
        place = self._place(key)
        digest = canonical.body_digest(exact.pack(of, types=self._work.states.types))
        self._work.head.touch()
        kept = self._work.store.kept(place)
        self._work.replay.met(place)
        if kept is not None and kept.digest != digest:
            raise ReplayDiverged(f"{place} was recorded for other arguments")
        return place, digest, kept

    def keep(self, place: str, digest: str, made: Any) -> Kept:
        """Records what was made."""
        value = canonical.dumps(exact.pack(made, types=self._work.states.types))
        kept = Kept(digest=digest, value=value)
        self._work.store.keep(place, kept)
        return kept

    def value(self, kept: Kept) -> Any:
        """The value of a record, a new object each time."""
        tree = canonical.reread(kept.value)
        return exact.unpack(tree, types=self._work.states.types, numbers=canonical.plain)

    def _act(
        self,
        name: str,
        arguments: str,
        *,
        effect: Effect = "idempotent",
        act: Act | None = None,
        what: str = "act",
    ) -> ToolResult:
        """Asks for what is no tool, and does it once it is allowed."""
        asked: Any = canonical.reread(arguments)
        return self._settle([Ask(tool=name, arguments=asked)], effect, act, what)[0]

    def _settle(
        self, asks: Sequence[Ask], effect: Effect | None, act: Act | None = None, what: str = "pause"
    ) -> list[ToolResult]:
        asks = [self._verified(ask) for ask in asks]
        work, place = self._work, self._place(what)
        proposals = [self._proposal(place, number, ask, effect) for number, ask in enumerate(asks)]
        looked_at = any(not one.is_plain_read for one in proposals)
        if not work.replay.met(place) and looked_at and self._ordered:
            work.replay.refuse_new(place)
        at = work.head.for_pause(needs_state=looked_at)
        stop = work.store.pause(key=place, snapshot=at, proposals=proposals, begin=True)
        work.head.asked(at, stop)
        results = work.calls.settle(stop, proposals, act)
        work.head.finished_something()
        for ask, call, result in zip(asks, stop.calls, results, strict=True):
            if result.outcome == "done":
                self._judge_result(ask, call, result)
        return results

    def _verified(self, ask: Ask) -> Ask:
        """The call with what its verifiers say of it, once."""
        about = [one for one in self._work.verifiers if one.judges == "proposal" and one.is_about(ask.tool)]
        checks = list(ask.checks)
        for verifier in about:
            came = self._verdict(verifier, ask, None)
            fields = ("name", "status", "detail", "source")
            checks.append({name: came[name] for name in fields})
        return replace(ask, checks=checks) if about else ask

    def _judge_result(self, ask: Ask, call: Call, result: ToolResult) -> None:
        for verifier in self._work.verifiers:
            if verifier.judges == "result" and verifier.is_about(ask.tool):
                self._verdict(verifier, ask, call, result.value)

    def _verdict(self, verifier: Verifier, ask: Ask, call: Call | None, result: Any = None) -> Any:
        """What a verifier said the first time; of a result it is written down at the hub, too."""

        def make(place: str) -> Any:
            judged = Judged(
                tool=ask.tool, arguments=dict(ask.arguments), result=result, plan=self._work.store.plan()
            )
            came = verify(verifier, judged)
            if call is not None:
                self._work.store.judged(call, came)
            return asdict(came)

        return self._recorded(f"verify:{verifier.name}", make, of=[ask.tool, dict(ask.arguments)])

    def _proposal(self, place: str, number: int, ask: Ask, effect: Effect | None) -> Proposal:
        tool = self._work.tools.get(ask.tool)
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

    def _place(self, what: str, *, again: bool = False) -> str:
        """The next place for this; `again`: the same one comes once more."""
        at, number = self.snapshot, self._occurrences[what] + 1
        if not again:
            self._occurrences[what] = number
        part = f"{self._part}/" if self._part else ""
        return f"{at.step}/{at.node[:MAX_NAME]}/{part}{what[:MAX_NAME]}/{number}"
