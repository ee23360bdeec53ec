"""What can go wrong in the engine, and the one signal that is no error."""

from __future__ import annotations


class GraphError(Exception):
    """The agent is put together wrongly; said when it is registered, not at step 40."""


class ReplayDiverged(Exception):
    """A step that started again asked for something else than it did the first time.

    Its code depends on what is not in the state (time, chance, the network) and not kept by `ctx.record`, or it was
    changed while the run waited.
    """


class StateError(Exception):
    """The state cannot be saved, or a saved one cannot be read by this version of the agent."""


class Fenced(Exception):
    """This process may not write for the branch any more: another one holds it, or it ended or went on elsewhere."""


class AskedAgain(Exception):
    """The right to run a call was gone (expired, facts or policy changed): people were asked again."""


class PlanChanged(Exception):
    """Another version of the plan is in force than this step thinks, perhaps one that a person restored."""


class Refused(Exception):
    """People, or policy, did not let the agent do what is no tool: take a new plan, enter a step, end."""


class PlanRefused(Refused):
    """A version of the plan was refused; the one before is in force. Says why."""


class ApprovalNeeded(Exception):
    """The store wants people to be asked first. The engine does that; agents never see it."""

    def __init__(self, tool: str, arguments: str) -> None:
        """What to ask for: the name, and the arguments as canonical text."""
        super().__init__(f"{tool} needs an approval")
        self.tool = tool
        self.arguments = arguments


class ContextOverflow(Exception):
    """A prompt is longer than the model takes. Raised by models; `ctx.model` shortens the prompt and asks again."""


class ToolError(Exception):
    """For tools: the action did *not* happen. Any other exception leaves that open."""


class TryLater(Exception):
    """What the agent needs does not answer just now (a rate limit, an overload, a time-out): the step is tried again.

    `after`: seconds that the other side asks for (`Retry-After`); None when it did not say.
    """

    def __init__(self, said: str, *, after: float | None = None) -> None:
        """Kept among the errors of the run."""
        super().__init__(said)
        self.after = after


class Paused(BaseException):
    """Unwinds a step that has to wait for people. No Exception, so that an agent's own handlers let it through."""


class LetGo(Paused):
    """Unwinds a step whose process gives the branch back: the run is halted, or the process was told to stop."""
