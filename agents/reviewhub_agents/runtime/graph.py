"""An agent as a typed graph, checked when it is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical

from .context import Context
from .errors import GraphError
from .models import Model
from .state import check_storable
from .states import StateType, Upgrade
from .store import Effect
from .tools import A, Tool, ToolRun, declare

S = TypeVar("S", bound=BaseModel)
END = "end"


@dataclass(frozen=True, kw_only=True)
class Step(Generic[S]):
    """A node: a function that changes the state and names the next step."""

    name: str
    function: Callable[[S, Context[S]], str | None]
    to: tuple[str, ...]

    def target(self, said: str | None) -> str:
        """The next step. None means the only edge there is.

        Raises:
            GraphError: there is no such edge, or more than one and the function named none.
        """
        if said is None and len(self.to) == 1:
            return self.to[0]
        if said is None or said not in self.to:
            raise GraphError(f"step {self.name} went to {said!r}; declared: {', '.join(self.to)}")
        return said


class Graph(Generic[S]):
    """An agent: a state, steps with declared edges, tools.

    Example:
        agent = Graph("greeter", Greeting)

        @agent.step(to=[END])
        def greet(state: Greeting, ctx: Context[Greeting]) -> None:
            state.text = ctx.tool("say", {"to": state.name}).value
    """

    def __init__(
        self,
        name: str,
        state: type[S],
        *,
        description: str = "",
        model: Model | None = None,
        result: Callable[[S], Any] | None = None,
        types: Iterable[type] | Mapping[str, type] = (),
        version: int | None = None,
        upgrades: Mapping[int, Upgrade] | None = None,
    ) -> None:
        """Puts an agent together.

        Args:
            result: makes the run's result from the last state; the whole state, as it is saved, when left out.
            types: enums that occur in fields whose annotation is Any; as a mapping also the names under which
                states saved before know an enum that has moved since. Also what `Context.record` may meet.
            version, upgrades: of the state, as for `StateType`. Without a version states are saved without a schema.
        """
        self.name = name
        self.state = state
        self.states = StateType(name, state, version=version, upgrades=upgrades, types=types)
        self.description = description
        self.model = model
        self.types = self.states.types
        self.result = result or (lambda last: canonical.reread(self.states.dump(last)))
        self.steps: dict[str, Step[S]] = {}
        self.tools: dict[str, Tool[Any]] = {}

    @property
    def start(self) -> str:
        """The first step that was declared."""
        return next(iter(self.steps))

    def step(
        self, *, to: Sequence[str]
    ) -> Callable[[Callable[[S, Context[S]], str | None]], Callable[[S, Context[S]], str | None]]:
        """Declares a step; the first one is where runs start. `to` names every step it may go to."""

        def add(function: Callable[[S, Context[S]], str | None]) -> Callable[[S, Context[S]], str | None]:
            name = function.__name__
            if name in self.steps or name == END:
                raise GraphError(f"{self.name}: there is a step {name} already")
            self.steps[name] = Step(name=name, function=function, to=tuple(to))
            return function

        return add

    def tool(
        self, name: str, *, effect: Effect, time_limit: int = 300, tries: int = 1, sentence: str = ""
    ) -> Callable[[Callable[[A, ToolRun], Any]], Callable[[A, ToolRun], Any]]:
        """Declares a tool.

        Args:
            effect: what running it twice means; `once` must not.
            time_limit: seconds after which a started call without an outcome counts as unknown.
            tries: how often a `read` or `idempotent` call is started when it fails.
            sentence: what people read first, a template over the arguments.
        """

        def add(function: Callable[[A, ToolRun], Any]) -> Callable[[A, ToolRun], Any]:
            if name in self.tools:
                raise GraphError(f"{self.name}: there is a tool {name} already")
            self.tools[name] = declare(
                function, name=name, effect=effect, time_limit=time_limit, tries=tries, sentence=sentence
            )
            return function

        return add

    def check(self) -> None:
        """Refuses a graph that cannot work: no step, a missing target, no way to or from a step, a bad state.

        Raises:
            GraphError: says what is wrong.
        """
        if not self.steps:
            raise GraphError(f"{self.name} has no step")
        check_storable(self.state)
        for step in self.steps.values():
            if not step.to:
                raise GraphError(
                    f"{self.name}: step {step.name} goes nowhere; say to=[END] if it is the last"
                )
            for target in step.to:
                if target != END and target not in self.steps:
                    raise GraphError(f"{self.name}: step {step.name} goes to {target}, which is no step")
        reached = self._reached()
        for name in self.steps:
            if name not in reached:
                raise GraphError(f"{self.name}: no way leads to step {name}")
        for name in self.steps:
            if name not in self._ending():
                raise GraphError(f"{self.name}: no way leads from step {name} to the end")

    def _reached(self) -> set[str]:
        found, todo = set[str](), [self.start]
        while todo:
            name = todo.pop()
            if name != END and name not in found:
                found.add(name)
                todo.extend(self.steps[name].to)
        return found

    def _ending(self) -> set[str]:
        found = {END}
        while more := {s.name for s in self.steps.values() if s.name not in found and found & set(s.to)}:
            found |= more
        return found
