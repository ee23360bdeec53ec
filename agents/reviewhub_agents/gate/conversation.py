"""What a gated call says to ReviewHub, as steps that both clients can carry out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from reviewhub_agents import routes
from reviewhub_agents.canonical import BadJson, digest, dumps, reread
from reviewhub_agents.errors import (
    Answered,
    BadRequest,
    Conflict,
    Denied,
    FactsChanged,
    GrantExpired,
    NotAllowed,
    OutcomeNotRecorded,
    PolicyChanged,
    ReviewHubError,
    StillWaiting,
    UnexpectedAnswer,
)
from reviewhub_agents.exchange import Steps, announce, exchange, settled
from reviewhub_agents.wire import (
    AllowedDecision,
    CallState,
    Check,
    ConsumeBody,
    ConsumeOut,
    DecisionOut,
    DecisionType,
    Effect,
    Evidence,
    FinishBody,
    OutcomeBody,
    OutcomeStatus,
    PauseBody,
    PauseOut,
    RunStart,
    ToolCallIn,
    ToolCallOut,
)

from .arguments import restored
from .run import active_run

_ASKED_AGAIN = (GrantExpired, FactsChanged, PolicyChanged, NotAllowed)
_MAX_ERROR_CHARS = 4000

Given = Callable[[Mapping[str, Any]], Any]
"""Says something of a call, from its arguments by name."""


@dataclass(frozen=True)
class Granted:
    """The call that is running now: for a tool that takes an idempotency key of its own."""

    call: UUID
    arguments: dict[str, Any]
    tool_idempotency_key: str
    attempt: int
    decision: DecisionOut | None
    own_branch: UUID | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What is the same for every call of one decorated function."""

    tool: str
    effect: Effect
    reason: str | Given = ""
    facts: Given | None = None
    evidence: Sequence[Evidence] = ()
    checks: Given | Sequence[Check] = ()
    allowed_decisions: Sequence[AllowedDecision] | None = None
    deadline: timedelta | None = None
    timeout: float | None = None

    def ask(self, arguments: Mapping[str, Any], *, patience: float) -> Steps[Granted]:
        """Pause, wait, consume. Raises `Denied` when the call may not run; returns exactly what to run."""
        text = dumps(dict(arguments))
        # Nobody may change a list while people look at it: what runs is what was written down.
        snapshot = copy.deepcopy(dict(arguments))
        branch, own, run = yield from self._run(patience)
        try:
            return (yield from self._granted(run, branch, own, snapshot, text, patience))
        except (Denied, BadRequest, StillWaiting):
            yield from self._close(own, patience)
            raise

    def _granted(
        self, run: UUID, branch: str, own: UUID | None, arguments: dict[str, Any], text: str, patience: float
    ) -> Steps[Granted]:
        body = PauseBody(branch=branch, tool_calls=[self._proposal(arguments, text)])
        pause = yield from exchange(routes.pause(run, body), patience=patience)
        while True:
            announce(pause)
            pause = yield from self._settled(pause, patience)
            call = pause.tool_calls[0]
            if call.state is not CallState.ALLOWED:
                raise _refusal(call)
            consume = routes.consume(call.id, self._consume(call, arguments))
            try:
                consumed = yield from exchange(consume, patience=patience)
            except _ASKED_AGAIN:
                pause = yield from exchange(routes.get_pause(pause.id), patience=patience)
                again = pause.tool_calls[0]
                if again.state is CallState.ALLOWED and again.grant == call.grant:
                    raise
                continue
            yield from self._check(call, consumed, patience)
            return Granted(
                call=call.id,
                arguments=restored(arguments, consumed.arguments),
                tool_idempotency_key=consumed.tool_idempotency_key,
                attempt=consumed.attempt,
                decision=call.decision,
                own_branch=own,
            )

    def succeeded(self, granted: Granted, result: Any, *, patience: float) -> Steps[None]:
        """Record what the function returned; what is no JSON is said to be left out, never changed."""
        try:
            dumps(result)
            body = OutcomeBody(status=OutcomeStatus.SUCCEEDED, result=result, attempt=granted.attempt)
        except BadJson as error:
            body = _without_result(str(error), granted.attempt)
        try:
            try:
                yield from exchange(routes.outcome(granted.call, body), patience=patience)
            except BadRequest as error:
                if not body.was_given("result"):
                    raise
                # The tool did run: a result that is too large, say, must not make its outcome unknown.
                body = _without_result(str(error), granted.attempt)
                yield from exchange(routes.outcome(granted.call, body), patience=patience)
            yield from self._close(granted.own_branch, patience)
        except ReviewHubError as error:
            raise OutcomeNotRecorded(result) from error

    def failed(self, granted: Granted, error: BaseException, *, patience: float) -> Steps[None]:
        """Record that the function raised; interrupted from outside (Ctrl-C, a cancelled task) is `unknown`."""
        known = isinstance(error, Exception)
        text = (
            f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARS].encode(errors="backslashreplace").decode()
        )
        body = OutcomeBody(
            status=OutcomeStatus.FAILED if known else OutcomeStatus.UNKNOWN,
            error=text.replace("\0", "\\x00"),
            attempt=granted.attempt,
        )
        yield from exchange(routes.outcome(granted.call, body), patience=patience)
        if known:
            yield from self._close(granted.own_branch, patience)

    def _run(self, patience: float) -> Steps[tuple[str, UUID | None, UUID]]:
        """The branch to pause on, the branch to finish afterwards if it is this call's own, and the run."""
        active = active_run()
        if active is not None:
            return "main", None, active
        run = yield from exchange(routes.start_run(RunStart(title=self.tool)), patience=patience)
        if not run.branches:
            raise UnexpectedAnswer("The new run has no branch.")
        return run.branches[0].name, run.branches[0].id, run.id

    def _close(self, own: UUID | None, patience: float) -> Steps[None]:
        """End the run that this call had to itself."""
        if own is None:
            return
        try:
            yield from exchange(routes.finish(own, FinishBody()), patience=patience)
        except Conflict:
            return  # Ended or rewritten by a person meanwhile, or decided in the moment it was asked back.

    def _settled(self, pause: PauseOut, patience: float) -> Steps[PauseOut]:
        try:
            return (yield from settled(pause.id, timeout=self.timeout, patience=patience))
        except StillWaiting as waiting:
            try:
                # Nobody would run it any more: do not let people decide for nothing.
                yield from exchange(routes.withdraw(waiting.pause.tool_calls[0].id), patience=patience)
            except Conflict as decided:
                waiting.add_note(f"It was decided in that very moment, and will not run: {decided}")
            raise

    def _proposal(self, arguments: Mapping[str, Any], text: str) -> ToolCallIn:
        given: dict[str, Any] = {}
        if self.allowed_decisions is not None:
            given["allowed_decisions"] = list(self.allowed_decisions)
        if self.deadline is not None:
            given["deadline"] = self.deadline
        return ToolCallIn(
            tool=self.tool,
            arguments_text=text,
            effect=self.effect,
            reason=self.reason(arguments) if callable(self.reason) else self.reason,
            evidence=list(self.evidence),
            checks=list(self.checks(arguments) if callable(self.checks) else self.checks),
            facts=self._facts(arguments),
            **given,
        )

    def _consume(self, call: ToolCallOut, arguments: Mapping[str, Any]) -> ConsumeBody:
        return ConsumeBody(
            digest=call.grant.digest if call.grant else call.digest, facts=self._facts(arguments)
        )

    def _facts(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self.facts(arguments)) if self.facts is not None else {}

    def _check(self, call: ToolCallOut, consumed: ConsumeOut, patience: float) -> Steps[None]:
        """The last hand-over before the tool: the arguments must be those that the digest stands for."""
        found = digest(tool=self.tool, arguments_text=consumed.arguments_text)
        if found == call.digest and reread(consumed.arguments_text) == consumed.arguments:
            return
        error = "Not run: the arguments handed out are not those that were decided."
        body = OutcomeBody(status=OutcomeStatus.FAILED, error=error, attempt=consumed.attempt)
        yield from exchange(routes.outcome(call.id, body), patience=patience)
        raise UnexpectedAnswer(error)


def _refusal(call: ToolCallOut) -> Denied:
    answered = call.decision is not None and call.decision.type is DecisionType.RESPOND
    return Answered(call) if answered else Denied(call)


def _without_result(why: str, attempt: int) -> OutcomeBody:
    return OutcomeBody(
        status=OutcomeStatus.SUCCEEDED,
        partial={"result_not_recorded": why[:_MAX_ERROR_CHARS]},
        attempt=attempt,
    )
