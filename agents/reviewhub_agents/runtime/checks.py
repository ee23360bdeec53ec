"""What is wrong with a graph, and what may surprise its author, found when it is registered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

from .errors import GraphError
from .heads import END
from .modes import Checkpoints
from .state import check_storable

if TYPE_CHECKING:
    from .graph import Graph, Step

SPARSE = frozenset({Checkpoints.MILESTONES, Checkpoints.EVENTS})


def check(graph: Graph[Any]) -> None:
    """Refuses a graph that cannot work: no step, a missing target, no way to or from a step, a bad state.

    Raises:
        GraphError: says what is wrong.
    """
    if not graph.steps:
        raise GraphError(f"{graph.name} has no step")
    check_storable(graph.state)
    for step in graph.steps.values():
        if not step.to:
            raise GraphError(f"{graph.name}: step {step.name} goes nowhere; say to=[END] if it is the last")
        for target in step.to:
            if target != END and target not in graph.steps:
                raise GraphError(f"{graph.name}: step {step.name} goes to {target}, which is no step")
    if graph.replan is not None and (graph.replan.to not in graph.steps or graph.replan.failures < 1):
        raise GraphError(f"{graph.name}: it cannot plan anew in {graph.replan.to!r}")
    reached, ending = _reached(graph.steps, graph.start), _ending(graph.steps)
    if graph.replan is not None:
        reached |= _reached(graph.steps, graph.replan.to)
    for name in graph.steps:
        if name not in reached:
            raise GraphError(f"{graph.name}: no way leads to step {name}")
        if name not in ending:
            raise GraphError(f"{graph.name}: no way leads from step {name} to the end")


def warnings(graph: Graph[Any]) -> list[str]:
    """What works, and costs more after a crash than its author may think.

    Whether a step saves or calls a tool is read off its code: `ctx.checkpoint` and the tool's name as a constant. What
    is hidden in a helper in another module is not seen.
    """
    found: list[str] = []
    saves = [step.name for step in graph.steps.values() if _is_milestone(step)]
    if not saves and (len(graph.steps) == 1 or graph.checkpoints in SPARSE):
        found.append(
            f"{graph.name}: checkpoints only at both ends; after a crash it begins from its top. Say ctx.checkpoint()"
            f" in a step, milestone=True at one, or another `checkpoints` for the graph."
        )
    once = {tool.name for tool in graph.tools.values() if tool.effect == "once"}
    if graph.checkpoints not in SPARSE:
        return found
    for step in graph.steps.values():
        called = once & set(_constants(step.function.__code__))
        if called and step.name not in saves:
            found.append(
                f"{graph.name}: no checkpoint after the `once` call {' and '.join(sorted(called))} in step {step.name};"
                f" what follows it is done again from the milestone before. Say milestone=True at the step."
            )
    return found


def _is_milestone(step: Step[Any]) -> bool:
    return step.milestone or "checkpoint" in _names(step.function.__code__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _names(code: CodeType) -> set[str]:
    return {name for one in _codes(code) for name in one.co_names}


def _constants(code: CodeType) -> Iterator[str]:
    for one in _codes(code):
        for value in one.co_consts:
            if isinstance(value, str):
                yield value


def _reached(steps: Mapping[str, Step[Any]], start: str) -> set[str]:
    found, todo = set[str](), [start]
    while todo:
        name = todo.pop()
        if name != END and name not in found:
            found.add(name)
            todo.extend(steps[name].to)
    return found


def _ending(steps: Mapping[str, Step[Any]]) -> set[str]:
    found = {END}
    while more := {s.name for s in steps.values() if s.name not in found and found & set(s.to)}:
        found |= more
    return found
