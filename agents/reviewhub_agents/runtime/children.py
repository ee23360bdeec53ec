"""Child runs: agents that a step starts beside itself, each a run of its own with its own checkpoints and gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from reviewhub_agents import canonical

from .errors import GraphError, Paused
from .heads import Head
from .states import StateType
from .store import ChildEnd, ChildOutcome, Store


@dataclass(frozen=True, kw_only=True)
class ChildResult:
    """How a child run ended.

    done: `value` is its result. failed: `error` says why. cancelled: a person, or the end of its agent, ended it.
    """

    child: str
    outcome: ChildOutcome
    value: Any = None
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is a value to go on with."""
        return self.outcome == "done"


class Startable(Protocol):
    """What a child is made of; a `Graph`."""

    @property
    def states(self) -> StateType[Any]:
        """Its states."""


class Record(Protocol):
    """How the context keeps results: `make` gets the place, once; a replay gets what was kept."""

    def __call__(self, key: str, make: Callable[[str], Any], *, of: Any) -> Any:
        """What `make` returned the first time."""


class Children:
    """The child runs of one step: each is started once, and what came of it is read once, however often it starts."""

    def __init__(self, store: Store, head: Head, graphs: Mapping[str, Startable], record: Record) -> None:
        """Made by the context."""
        self._store = store
        self._head = head
        self._graphs = graphs
        self._record = record

    def start(self, name: str, given: Mapping[str, Any], title: str) -> str:
        """Starts a child and returns its handle.

        Raises:
            GraphError: the agent has no such child.
            StateError: its state cannot be made from what is given.
        """
        if name not in self._graphs:
            raise GraphError(
                f"this agent has no child {name!r}; declared: {', '.join(self._graphs) or 'none'}"
            )
        text = canonical.dumps(dict(given))
        self._graphs[name].states.first(text)

        def make(place: str) -> str:
            self._store.start_child(key=place, graph=name, given=text, title=title)
            return place

        child: str = self._record(f"child:{name}", make, of=[name, dict(given)])
        return child

    def wait(self, children: Sequence[str]) -> list[ChildResult]:
        """What came of these; raises Paused while one goes on."""
        if not children:
            return []
        ends = self._record(
            "wait", lambda place: [asdict(one) for one in self._over(children)], of=list(children)
        )
        return [_result(ChildEnd(**one)) for one in ends]

    def wait_for_all(self) -> None:
        """At the end of the run: raises Paused while a child of it goes on."""
        if self._graphs:
            self._over(None)

    def _over(self, children: Sequence[str] | None) -> list[ChildEnd]:
        self._head.flush()
        ends = self._store.wait_for(children)
        if ends is None:
            raise Paused
        return ends


def _result(end: ChildEnd) -> ChildResult:
    value = canonical.plain(canonical.reread(end.result)) if end.result is not None else None
    return ChildResult(child=end.child, outcome=end.outcome, value=value, error=end.error)
