"""What can go wrong for an agent. Each problem code of the API has a class of its own, and all have one base.

The message of an error is what the server said, or the first line of the class's docstring.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from reviewhub_agents.canonical import Fault, Number
from reviewhub_agents.wire import BadBody, ContinueFrom, DecisionOut, PauseOut, Problem, ToolCallOut


class ReviewHubError(Exception):
    """Something went wrong between an agent and ReviewHub."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (inspect.getdoc(type(self)) or "").partition("\n")[0])


class Unreachable(ReviewHubError):
    """ReviewHub did not answer for longer than the client's patience. Nothing may be assumed about the request."""


class UnexpectedAnswer(ReviewHubError):
    """The answer is not what the contract says: no ReviewHub at this address, or one of another version."""


class StillWaiting(ReviewHubError):
    """The pause was not settled in time. It stays open: wait for it again, now or after a restart."""

    def __init__(self, pause: PauseOut) -> None:
        self.pause = pause
        super().__init__()


class OutcomeNotRecorded(ReviewHubError):
    """The function ran, but ReviewHub could not be told how it ended. `result` is what it returned."""

    def __init__(self, result: Any) -> None:
        self.result = result
        super().__init__()


class Denied(ReviewHubError):
    """The call was not allowed to run, and did not run."""

    def __init__(self, call: ToolCallOut) -> None:
        self.call = call
        super().__init__(self.model_text)

    @property
    def decision(self) -> DecisionOut | None:
        """Who decided what, and when."""
        return self.call.decision

    @property
    def model_text(self) -> str:
        """What to tell the model: that the call was not run, who said so, and why."""
        return (
            self.call.model_text
            or self.call.message
            or f"The call of {self.call.tool} was not allowed and not run."
        )


class Answered(Denied):
    """A reviewer answered instead of letting the call run; `value` is the answer."""

    @property
    def value(self) -> Any:
        """The reviewer's answer: any JSON, also null, false, 0 and "", with exact numbers."""
        return None if self.decision is None else self.decision.value


class ApiError(ReviewHubError):
    """ReviewHub refused the request."""

    code: ClassVar[str] = ""
    """The problem code this class stands for; "" for classes that stand for several."""
    by_code: ClassVar[dict[str, type[ApiError]]] = {}

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.detail or problem.title)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" in cls.__dict__:
            ApiError.by_code[cls.code] = cls

    def __str__(self) -> str:
        faults = "".join(f"\n  {fault.path or '/'}: {fault.message}" for fault in self.problem.errors)
        return f"{super().__str__()} ({self.problem.status} {self.problem.code}){faults}"

    @property
    def errors(self) -> list[Fault]:
        """For bad input: where, which code, and a sentence."""
        return [Fault(path=item.path, code=item.code, message=item.message) for item in self.problem.errors]


class BadRequest(ApiError):
    """The request is not what the contract or the tool's schema allows."""


class InvalidJson(BadRequest):
    """The body is not JSON."""

    code = "invalid_json"


class TooDeep(BadRequest):
    """The body is nested too deep."""

    code = "too_deep"


class DuplicateKey(BadRequest):
    """A key occurs twice in one object of the body."""

    code = "duplicate_key"


class NotANumber(BadRequest):
    """The body holds NaN or Infinity."""

    code = "not_a_number"


class TooLarge(BadRequest):
    """The body is larger than the limit."""

    code = "too_large"


class Invalid(BadRequest):
    """The body is well-formed, but not what is allowed here."""

    code = "invalid"


class Unauthenticated(ApiError):
    """The key is missing, wrong or revoked."""

    code = "unauthenticated"


class Forbidden(ApiError):
    """This key may not do that."""

    code = "forbidden"


class AgentStopped(Forbidden):
    """The agent was stopped: its keys may only read, poll and report outcomes."""

    code = "agent_stopped"


class NotFound(ApiError):
    """There is no such thing, or it is not this agent's."""

    code = "not_found"


class Conflict(ApiError):
    """The request does not fit what has happened meanwhile."""


class NotAllowed(Conflict):
    """The call is not allowed to run."""

    code = "not_allowed"


class ApprovalNeeded(Conflict):
    """Policy asks for people first: pause for `tool` with `arguments_text`, consume, say it again with the `call`."""

    code = "approval_needed"

    @property
    def tool(self) -> str:
        """What to pause for."""
        return str(self.problem.extra["tool"])

    @property
    def arguments_text(self) -> str:
        """The arguments to pause with, exactly."""
        return str(self.problem.extra["arguments_text"])


class AlreadyConsumed(Conflict):
    """The call was started before, and must not run twice."""

    code = "already_consumed"


class DigestMismatch(Conflict):
    """The call to run is not the call that was decided."""

    code = "digest_mismatch"


class GrantExpired(Conflict):
    """The grant is too old; people are asked again."""

    code = "grant_expired"


class FactsChanged(Conflict):
    """The facts the decision rested on have changed; people are asked again."""

    code = "facts_changed"


class PolicyChanged(Conflict):
    """Policy has become stricter since the grant."""

    code = "policy_changed"


class NotConsumed(Conflict):
    """The call was never started, so it has no outcome."""

    code = "not_consumed"


class OutcomeConflict(Conflict):
    """Another outcome was recorded before."""

    code = "outcome_conflict"


class IdempotencyConflict(Conflict):
    """The idempotency key was used with another body."""

    code = "idempotency_conflict"


class Halted(Conflict):
    """The run is halted: nothing starts for it until a person resumes it."""

    code = "halted"


class StaleHead(Conflict):
    """The branch went on from another checkpoint meanwhile."""

    code = "stale_head"


class StalePlan(Conflict):
    """Another version of the plan is in force, perhaps one that a person restored; read it and plan on from there."""

    code = "stale_plan"

    @property
    def version(self) -> int | None:
        """The version in force, or None when there is no plan or the server did not say."""
        found = self.problem.extra.get("version")
        return found.to_python() if isinstance(found, Number) and found.is_integer else None  # type: ignore[return-value]


class Unsettled(Conflict):
    """The branch has calls that wait, run, or ended unknown."""

    code = "unsettled"


class Superseded(Conflict):
    """A person rewrote the state: this branch is over, `continue_from` says where to go on."""

    code = "superseded"

    @property
    def continue_from(self) -> ContinueFrom | None:
        """The new branch and its checkpoint, or None when the server did not say."""
        found = self.problem.extra.get("continue_from")
        try:
            return None if found is None else ContinueFrom.from_tree(found, lenient=True)
        except BadBody as error:
            raise UnexpectedAnswer(f"continue_from is malformed: {error}") from error


class SlowDown(ApiError):
    """Too many requests, for longer than the client's patience."""

    code = "slow_down"


class TryAgain(ApiError):
    """ReviewHub could not answer, for longer than the client's patience."""

    code = "try_again"


def error_for(problem: Problem) -> ApiError:
    """The error for a problem: the class of its code, else one by its status."""
    known = ApiError.by_code.get(problem.code)
    if known is not None:
        return known(problem)
    fallback = {400: BadRequest, 422: BadRequest, 403: Forbidden, 404: NotFound, 409: Conflict}
    return fallback.get(problem.status, ApiError)(problem)
