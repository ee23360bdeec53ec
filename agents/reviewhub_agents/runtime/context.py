"""What a step may do to the world, so that a step that starts again does nothing twice."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from .children import Children, ChildResult
from .errors import ApprovalNeeded, ContextOverflow, GraphError, Paused, Refused
from .fit import estimate, fit
from .heads import END
from .models import Message, Model
from .places import Ask, Places
from .plans import Plans
from .resources import Resource
from .results import ToolResult
from .state import dump
from .store import Effect, Signals
from .work import Work

S = TypeVar("S", bound=BaseModel)
R = TypeVar("R")
SHORTER = (0.5, 0.25, 0.125)
"""What a prompt that the model refused is shortened to, in parts of what it was."""

logger = logging.getLogger("reviewhub_agents.agent")


class Context(Places[S]):
    """Given to a step together with the state.

    Everything is found again by its place: at which step of the run it was asked for, what for, and how often the step
    had asked for such a thing before. A replay that asks for something else in the same place raises ReplayDiverged.
    """

    def __init__(self, work: Work[S], state: S, *, part: str = "", ordered: bool = True) -> None:
        """Made by the engine, one per step; as `Places`."""
        super().__init__(work, state, part=part, ordered=ordered)
        self.plan = Plans(work.store, self._recorded, self._act, work.replan)
        self._children = Children(work.store, work.head, work.children, self._recorded)

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
        """The model's next message; a replay gets the one of the first time.

        A prompt that the model refuses as too long is sent again, shortened as `fit` does. What is recorded is asked
        for with the whole of `messages`, so that a replay need not come to the same shortening.
        """
        model = self.the_model()
        answer: Message = self.record(
            f"model:{model.name}", lambda: self._complete(model, messages), of=messages
        )
        return answer

    def record(self, key: str, make: Callable[[], Any], *, of: Any = None) -> Any:
        """What `make()` returned the first time; for whatever a replay must not do or draw again.

        Args:
            key: names the place; the same key may be used many times in a step.
            make: returns anything that `exact.pack` takes.
            of: what the result depends on; a replay with another value raises ReplayDiverged.
        """
        return self._recorded(key, lambda place: make(), of=of)

    def fit(self, messages: Sequence[Message], tokens: int) -> list[Message]:
        """A shorter prompt for the model, of at most `tokens`; the state keeps the whole conversation.

        Counted by the model, if it has a method `count`, else estimated. Raises ContextOverflow when that cannot be.
        """
        return fit(messages, tokens, count=getattr(self._work.model, "count", estimate))

    def child(self, name: str, given: Mapping[str, Any], *, title: str = "") -> ChildResult:
        """Starts a child run and waits until it has ended; meanwhile no worker is held. As the next two together."""
        return self.wait_for([self.start_child(name, given, title=title)])[0]

    def start_child(self, name: str, given: Mapping[str, Any], *, title: str = "") -> str:
        """Starts a run of a declared child beside this one, and goes on at once.

        A gate in the child stops the child, and this run only where it waits for it.

        Args:
            name: of a graph that the agent declared with `Graph.child`.
            given: the child's input, from which its first state is made.
            title: what people read; the graph's name when left out.

        Returns:
            The child's handle, for `wait_for`; a text, which the state may keep.
        """
        return self._children.start(name, given, title)

    def wait_for(self, children: Sequence[str]) -> list[ChildResult]:
        """How these children ended, in order. While one goes on the branch is given up: no worker waits.

        A child that was set aside goes on when a person retries it, and is waited for.
        """
        return self._children.wait(children)

    def sleep_until(self, when: datetime | timedelta) -> None:
        """Goes on at `when`, or after it has passed. The branch is given up meanwhile: no worker waits.

        Args:
            when: a time with its zone, by the hub's clock; or how long from the first time on that this step asks.

        Raises:
            ValueError: the time has no zone.
        """
        if isinstance(when, datetime) and when.tzinfo is None:
            raise ValueError(f"{when} says no time zone")
        of = when.isoformat() if isinstance(when, datetime) else when.total_seconds()
        until: str = self.record("sleep", lambda: _moment(when, self._work.store.now), of=of)
        self._work.head.flush()
        if not self._work.store.sleep(until=until):
            raise Paused

    def log(self, message: str, **fields: Any) -> None:
        """Writes to the logger `reviewhub_agents.agent`, and never into the state.

        The record has `agent`, `node`, `step`, `replay` (whether recorded results are being read again), `behind` (how
        many steps the saved state is behind, 0 or 1) and `fields`.
        """
        at = self.snapshot
        extra = {
            "agent": self._work.agent,
            "node": at.node,
            "step": at.step,
            "replay": self._work.replay.going_on,
            "behind": self._work.head.lag,
            "fields": fields,
        }
        logger.info(message, extra=extra)

    def use(self, resource: Resource[R]) -> R:
        """A declared resource, made when it is used first in this process."""
        return self._work.resources.use(resource)

    def checkpoint(self) -> None:
        """Saves the state now: a milestone. After a crash the step starts from its top with this state.

        Raises:
            GraphError: in a part of a step, beside which others run.
        """
        if self._part:
            raise GraphError("a part of a step has no checkpoints of its own; the step has")
        self.arrive(node=self.snapshot.node, milestone=True)

    def arrive(self, *, node: str, milestone: bool) -> None:
        """The state is as it is to be with `node` as the step to run next; the engine's own end of a step."""
        work = self._work
        work.replay.ended(self.snapshot.step)
        work.head.arrive(
            node=node, state=dump(self._state, types=work.states.types, texts=work.texts), milestone=milestone
        )
        self._occurrences.clear()

    def enter(self) -> None:
        """Before the step begins: where policy wants people to be asked, they are. The engine's own.

        Raises:
            Refused: they said no.
        """
        at = self.snapshot
        known = self._work.replay.holds(self._place("enter", again=True))
        arguments = None if known else self._work.store.enter(node=at.node, step=at.step)
        if known or arguments is not None:
            asked: str = self._recorded("enter", lambda place: arguments, of=None)
            result = self._act(f"rh.step/{at.node}", asked, effect="read", what="entry")
            if result.outcome != "done":
                raise Refused(_refusal(f"step {at.node} may not be entered", result))

    def onward(self, node: str) -> str:
        """The step to go to: where the plan does not hold any more, the one that plans anew. The engine's own.

        Raises:
            Refused: the one that plans anew left it at that, and would go on.
        """
        replan, here = self._work.replan, self.snapshot.node
        if replan is None or node == END:
            return node
        seen = self._recorded("replan", lambda place: asdict(self._work.store.signals()), of=None)
        why = replan.why(Signals(**seen))
        if why is not None and here == replan.to:
            raise Refused(f"the plan does not hold ({why}), and there is no other one")
        return node if why is None else replan.to

    def finish(self, result: str) -> None:
        """After the last step: the branch ends, where policy wants that with people's consent. The engine's own.

        Raises:
            Refused: they do not think that it is done.
        """
        self._children.wait_for_all()
        store, arguments = self._work.store, None
        known = self._work.replay.holds(self._place("finish", again=True))
        if not known:
            try:
                store.finish(result=result)
                return
            except ApprovalNeeded as needed:
                arguments = needed.arguments
        asked: str = self._recorded("finish", lambda place: arguments, of=None)
        said = self._act(
            "rh.finish", asked, act=lambda call, permit: store.finish(result=result, call=call.id)
        )
        if said.outcome != "done":
            raise Refused(_refusal("the end of the run was not accepted", said))

    def the_model(self) -> Model:
        """The agent's model. Raises GraphError when it has none."""
        if self._work.model is None:
            raise GraphError("this agent has no model")
        return self._work.model

    def _complete(self, model: Model, messages: list[Message]) -> Message:
        for prompt in prompts(messages, self.fit):
            try:
                said: Any = model.complete(prompt)
                return cast("Message", self._work.loop.run(said) if inspect.iscoroutine(said) else said)
            except ContextOverflow:
                logger.info("%s: a prompt of %d messages was too long", model.name, len(prompt))
        raise ContextOverflow(f"{model.name} refuses this conversation however short")


def prompts(
    messages: list[Message], shorten: Callable[[Sequence[Message], int], list[Message]]
) -> Iterator[list[Message]]:
    """The whole conversation, and then shorter and shorter ones, for as long as that goes."""
    yield messages
    whole = estimate(messages)
    for share in SHORTER:
        try:
            yield shorten(messages, int(whole * share))
        except ContextOverflow:
            return


def _moment(when: datetime | timedelta, now: Callable[[], datetime]) -> str:
    moment = when if isinstance(when, datetime) else now() + when
    return moment.astimezone(UTC).isoformat()


def _refusal(what: str, result: ToolResult) -> str:
    by = f" ({result.by})" if result.by else ""
    return f"{what}{by}: {result.message or result.error or result.decision or result.outcome}"
