"""When an agent plans anew."""

from __future__ import annotations

from dataclasses import dataclass

from .store import Signals


@dataclass(frozen=True, kw_only=True)
class Why:
    """Why there has to be another plan: one of these, and what there is to say of it."""

    failures: int | None = None
    contradicted: str | None = None
    asked: bool = False
    text: str = ""

    def __str__(self) -> str:
        said = "a person asked for it" if self.asked else f"{self.failures} failures in a row"
        said = f"assumption {self.contradicted} does not hold" if self.contradicted else said
        said = "what was done did not pass" if self.text and said.startswith("None ") else said
        return f"{said}: {self.text}" if self.text else said


@dataclass(frozen=True, kw_only=True)
class Replan:
    """At the end of each step but the last it is looked whether the plan holds; if not, the run goes to step `to`.

    Reasons: so many calls in a row that `failures`, a verdict that contradicts an assumption or that a rule of policy
    makes a reason, a person who asks for it.
    """

    to: str
    failures: int = 3

    def why(self, signals: Signals) -> Why | None:
        """The reason to plan anew; None while there is none. What a person says comes first."""
        if signals.version == 0:
            return None
        if signals.asked:
            return Why(asked=True, text=signals.asked)
        if signals.contradicted:
            return Why(contradicted=signals.contradicted, text=signals.because)
        if signals.refused:
            return Why(text=signals.refused)
        return Why(failures=signals.failures) if signals.failures >= self.failures else None
