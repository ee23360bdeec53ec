"""An agent as a typed graph, checked when it is put together."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from pydantic import BaseModel

from reviewhub_agents import canonical

from . import checks
from .async_context import AsyncContext
from .context import Context
from .errors import GraphError
from .heads import END
from .models import Model
from .modes import Checkpoints
from .replan import Replan
from .resources import Resource
from .states import StateType, Upgrade
from .store import Effect
from .tools import A, Tool, ToolRun, declare
from .verifiers import MAX_NAME, Judge, Judges, Verifier

S = TypeVar("S", bound=BaseModel)
R = TypeVar("R")

SNAPSHOT_EVERY = 25

Function: TypeAlias = (
    Callable[[S, Context[S]], str | None] | Callable[[S, AsyncContext[S]], Awaitable[str | None]]
)
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Step(Generic[S]):
    """A node: a function that changes the state and names the next step."""

    name: str
    function: Function[S]
    to: tuple[str, ...]
    milestone: bool = False

    @property
    def is_async(self) -> bool:
        """Whether its function is `async` and gets an `AsyncContext`."""
        return inspect.iscoroutinefunction(self.function)

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
    """An agent: a state, steps with declared edges, tools, resources.

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
        checkpoints: Checkpoints | str = Checkpoints.UNIT,
        snapshot_every: int = SNAPSHOT_EVERY,
        replan: Replan | None = None,
    ) -> None:
        """Puts an agent together.

        Args:
            result: makes the run's result from the last state; the whole state, as it is saved, when left out.
            types: enums that occur in fields whose annotation is Any; as a mapping also the names under which
                states saved before know an enum that has moved since. Also what `Context.record` may meet.
            version, upgrades: of the state, as for `StateType`. Without a version states are saved without a schema.
            checkpoints: when the state is saved.
            replan: to which step it goes when something speaks against its plan.
            snapshot_every: how many steps an event-sourced agent replays at most to rebuild a state.

        Raises:
            GraphError: there are no such checkpoints, or none would ever be made.
        """
        self.name = name
        self.state = state
        self.states = StateType(name, state, version=version, upgrades=upgrades, types=types)
        self.description = description
        self.model = model
        self.types = self.states.types
        self.result = result or (lambda last: canonical.reread(self.states.dump(last)))
        if checkpoints not in set(Checkpoints) or snapshot_every < 1:
            raise GraphError(f"{name}: no such checkpoints: {checkpoints!r}, every {snapshot_every} steps")
        self.checkpoints = Checkpoints(checkpoints)
        self.snapshot_every = snapshot_every
        self.replan = replan
        self.verifiers: list[Verifier] = []
        self.steps: dict[str, Step[S]] = {}
        self.tools: dict[str, Tool[Any]] = {}
        self.resources: dict[str, Resource[Any]] = {}
        self.children: dict[str, Graph[Any]] = {}

    @property
    def start(self) -> str:
        """The first step that was declared."""
        return next(iter(self.steps))

    def step(self, *, to: Sequence[str], milestone: bool = False) -> Callable[[F], F]:
        """Declares a step, a function `(state, ctx)`; the first one is where runs start.

        Args:
            to: every step it may go to.
            milestone: whether the state is saved at its end, whatever the graph's `checkpoints` are.
        """

        def add(function: F) -> F:
            name = function.__name__
            if name in self.steps or name == END:
                raise GraphError(f"{self.name}: there is a step {name} already")
            self.steps[name] = Step(name=name, function=function, to=tuple(to), milestone=milestone)
            return function

        return add

    def tool(
        self,
        name: str,
        *,
        effect: Effect,
        time_limit: int = 300,
        tries: int = 1,
        wait: float = 0.5,
        result: Any = None,
        sentence: str = "",
    ) -> Callable[[Callable[[A, ToolRun], Any]], Callable[[A, ToolRun], Any]]:
        """Declares a tool, a function or an `async` one.

        Args:
            effect: what running it twice means; `once` must not.
            time_limit: seconds after which a started call without an outcome counts as unknown.
            tries: how often a `read` or `idempotent` call is started when it fails.
            wait: seconds before the first repeat; each further one waits twice as long.
            result: the type of its results; one that does not fit is kept and marked, and not built upon.
            sentence: what people read first, a template over the arguments.
        """

        def add(function: Callable[[A, ToolRun], Any]) -> Callable[[A, ToolRun], Any]:
            if name in self.tools:
                raise GraphError(f"{self.name}: there is a tool {name} already")
            if name.startswith("rh."):
                raise GraphError(f"{self.name}: {name} begins with rh., as only the hub's own names do")
            self.tools[name] = declare(
                function,
                name=name,
                effect=effect,
                time_limit=time_limit,
                tries=tries,
                wait=wait,
                result=result,
                sentence=sentence,
            )
            return function

        return add

    def verifier(
        self,
        name: str,
        *,
        of: str,
        judges: Judges = "proposal",
        source: Literal["function", "model"] = "function",
        seconds: float = 30.0,
    ) -> Callable[[Judge], Judge]:
        """Declares who judges calls from outside of the steps, a function `(judged) -> Opinion`.

        Of a `proposal` it is shown as a check to whoever decides, and holds the call unless it passes. Of a `result` it
        is on record, and a reason to plan anew if it contradicts an assumption.

        Args:
            of: the names that it judges, of tools or of acts (`rh.plan`), as a glob.
            source: what people are told that it is.
            seconds: after which it has timed out.
        """

        def add(judge: Judge) -> Judge:
            if not 0 < len(name) <= MAX_NAME or any(one.name == name for one in self.verifiers):
                raise GraphError(
                    f"{self.name}: a verifier's name is its own and has up to {MAX_NAME} characters"
                )
            self.verifiers.append(
                Verifier(name=name, of=of, judges=judges, judge=judge, source=source, seconds=seconds)
            )
            return judge

        return add

    def child(self, graph: Graph[Any]) -> None:
        """Declares an agent that steps may start beside them, `ctx.child(graph.name, …)`: a run of its own each time.

        It may be this one. Its tools are registered with this agent's, since it is this agent that people know.

        Raises:
            GraphError: there is another child of this name.
        """
        if self.children.setdefault(graph.name, graph) is not graph:
            raise GraphError(f"{self.name}: there is a child {graph.name} already")

    def family(self) -> dict[str, Graph[Any]]:
        """This graph, its children and theirs, by name.

        Raises:
            GraphError: two of them have the same name.
        """
        found: dict[str, Graph[Any]] = {}
        todo: list[Graph[Any]] = [self]
        while todo:
            graph = todo.pop(0)
            if found.setdefault(graph.name, graph) is not graph:
                raise GraphError(f"{self.name}: two of its children are called {graph.name}")
            todo += [one for one in graph.children.values() if found.get(one.name) is not one]
        return found

    def named(self, name: str) -> Graph[Any]:
        """The graph of the family that is called `name`; this one for an empty name. Raises GraphError for none."""
        found = self.family().get(name or self.name)
        if found is None:
            raise GraphError(f"this version of {self.name} has no child {name}")
        return found

    def every_tool(self) -> dict[str, Tool[Any]]:
        """The tools of the whole family, by name.

        Raises:
            GraphError: two graphs of it declare different tools under one name.
        """
        found: dict[str, Tool[Any]] = {}
        for graph in self.family().values():
            for name, tool in graph.tools.items():
                if found.setdefault(name, tool).describe() != tool.describe():
                    raise GraphError(f"{self.name}: there are two different tools called {name}")
        return found

    @overload
    def resource(self, make: Callable[[], Iterator[R]]) -> Resource[R]: ...
    @overload
    def resource(self, make: Callable[[], AsyncIterator[R]]) -> Resource[R]: ...
    @overload
    def resource(self, make: Callable[[], R]) -> Resource[R]: ...

    def resource(self, make: Callable[[], Any]) -> Resource[Any]:
        """Declares what the agent needs and no state can hold: a connection, a file, a client.

        `make` returns it, or yields it once and closes it after that; it is made anew in each process.
        """
        name = make.__name__
        if name in self.resources:
            raise GraphError(f"{self.name}: there is a resource {name} already")
        self.resources[name] = Resource(name, make)
        return self.resources[name]

    def check(self) -> None:
        """Refuses a graph that cannot work. Raises GraphError."""
        for graph in self.family().values():
            checks.check(graph)
        self.every_tool()

    def warnings(self) -> list[str]:
        """What works and may surprise, a sentence each."""
        return [said for graph in self.family().values() for said in checks.warnings(graph)]
