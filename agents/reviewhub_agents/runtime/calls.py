"""From asking for calls to their results: wait, run once, write down, or ask a person."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, cast

from pydantic import ValidationError

from reviewhub_agents import canonical

from .errors import AskedAgain, Paused, PlanChanged, ToolError
from .loop import Engine, Loop
from .recovery import Move, next_move
from .resources import Opened
from .results import ToolResult, result_of
from .store import Call, Next, Permit, Proposal, Status, Stop, Store
from .tools import Tool, ToolRun

MAX_ERROR = 2000
GONE = "The process that ran it is gone; nobody knows whether it happened."


Act = Callable[[Call, Permit], Any]
"""What a consumed call that is no tool does; its result is something JSON can hold."""


class Calls:
    """The tool calls of one process."""

    def __init__(self, store: Store, tools: Mapping[str, Tool[Any]], resources: Opened, loop: Loop) -> None:
        self._store = store
        self._tools = tools
        self._resources = resources
        self._loop = loop
        self._partials: dict[str, str] = {}

    def settle(self, stop: Stop, proposals: Sequence[Proposal], act: Act | None = None) -> list[ToolResult]:
        """Brings every call of a pause to its end, in order, and returns the results.

        Args:
            act: what is done with the permit where no tool is meant.

        Raises:
            Paused: at least one call waits for people; the step has to unwind.
        """
        facts = {proposal.key: proposal.facts for proposal in proposals}
        permit = stop.permit
        # Every call is answered before any runs: a branch that waits is given up, and nothing may run for it.
        if any(self._move(call) is Move.WAIT for call in stop.calls):
            raise Paused
        ended: list[Call] = []
        for call, after in zip_longest(stop.calls, stop.calls[1:]):
            then = Next(call=after, facts=facts[after.key]) if after and after.state == "allowed" else None
            done, permit = self._finish(call, facts[call.key], act, permit, then)
            ended.append(done)
        return [self._result(call) for call in ended]

    def _result(self, call: Call) -> ToolResult:
        tool = self._tools.get(call.tool)
        answered = call.decision.value if call.decision and call.decision.type == "respond" else None
        came = call.result if call.result is not None else answered
        misfit = tool.misfit(came) if tool and came is not None else ""
        return result_of(call, misfit=misfit)

    def _finish(
        self,
        call: Call,
        facts: dict[str, Any],
        act: Act | None,
        permit: Permit | None,
        then: Next | None,
    ) -> tuple[Call, Permit | None]:
        """The call as it ended, and the permit of the next one where that began with the end of this one."""
        tries, begun = 0, None
        if permit is not None:
            call, begun = self._attempt(call, permit, act, then)
            tries = 1
        while (move := self._move(call)) is not Move.USE:
            if move is Move.ASK:
                self._store.outcome(call, attempt=call.attempt, status="unknown", error=GONE)
            if move is not Move.RUN:
                raise Paused
            if tries:
                time.sleep(self._tools[call.tool].pause_before(tries))
            call, begun = self._attempt(call, self._permit(call, facts), act, then)
            tries += 1
        return call, begun

    def _move(self, call: Call) -> Move:
        tool = self._tools.get(call.tool)
        return next_move(
            state=call.state, effect=call.effect, attempt=call.attempt, tries=tool.tries if tool else 1
        )

    def _permit(self, call: Call, facts: dict[str, Any]) -> Permit:
        try:
            return self._store.consume(call, facts=facts)
        except AskedAgain as again:
            raise Paused from again

    def _attempt(
        self, call: Call, permit: Permit, act: Act | None, then: Next | None
    ) -> tuple[Call, Permit | None]:
        """Runs the call once, and writes down how it ended; the call as the ledger has it then."""
        status, result, error = self._run(call, permit) if act is None else _done(act, call, permit)
        begun = self._store.outcome(
            call,
            attempt=permit.attempt,
            status=status,
            result=result,
            error=error,
            then=then if status == "succeeded" else None,
        )
        partial = self._partials.pop(call.id, call.partial)
        ended = replace(
            call, state=status, attempt=permit.attempt, result=result, error=error, partial=partial
        )
        return ended, begun

    def _run(self, call: Call, permit: Permit) -> tuple[Status, str | None, str]:
        tool = self._tools.get(call.tool)
        if tool is None:  # a gate: the permit is all there is to it
            return "succeeded", permit.arguments, ""
        try:
            return "succeeded", canonical.dumps(self._perform(tool, call, permit)), ""
        except ToolError as error:
            return "failed", None, str(error)[:MAX_ERROR] or "The tool did not say why."
        except Exception as error:  # noqa: BLE001  whatever a tool raises: is it certain that nothing happened?
            said = f"{type(error).__name__}: {error}"[:MAX_ERROR]
            return ("unknown" if call.effect == "once" else "failed"), None, said

    def _perform(self, tool: Tool[Any], call: Call, permit: Permit) -> Any:
        try:
            arguments = tool.arguments.model_validate_json(permit.arguments)
        except ValidationError as error:
            raise ToolError(f"the arguments do not fit: {error}") from error
        engine = Engine()

        def keep(partial: Any) -> None:
            text = self._partials[call.id] = canonical.dumps(partial)
            if waits:
                engine.hand_over(lambda: self._store.progress(call, partial=text))
            else:
                self._store.progress(call, partial=text)

        waits = inspect.iscoroutinefunction(tool.run)
        run = ToolRun(
            idempotency_key=permit.idempotency_key,
            attempt=permit.attempt,
            progress=keep,
            partial=canonical.plain(canonical.reread(call.partial)) if call.partial else None,
            use=self._resources.use,
        )
        if not waits:
            return tool.run(arguments, run)
        work = asyncio.wait_for(cast("Any", tool.run)(arguments, run), timeout=tool.time_limit)
        return self._loop.run(work, engine=engine)


def _done(act: Act, call: Call, permit: Permit) -> tuple[Status, str | None, str]:
    """What came of an act. Any other error leaves the call started: it does no harm twice, and is tried again."""
    try:
        return "succeeded", canonical.dumps(act(call, permit)), ""
    except PlanChanged as error:
        return "failed", None, str(error)[:MAX_ERROR]
