"""What a person has put together of a rewrite, between two steps of its form."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import Tree

from reviewhub.core.display.masking import masked
from reviewhub.web.state_fields import Group
from reviewhub.web.state_view import hides


@dataclass(frozen=True)
class Draft:
    """What a person has put together so far, and the place of the state that they look at."""

    changes: list[Tree] = field(default_factory=list)
    reason: str = ""
    plan: str = wire.PlanChoice.KEEP.value
    path: str = ""
    start: int = 0
    is_fork: bool = False
    """Whether it is a fork, that follows no flag."""
    branch: str = ""
    """What a fork is to be called; empty for the next free name."""
    look: str = ""
    """The flagged call that a corrective branch follows; empty for a rewrite and a fork."""
    errors: tuple[str, ...] = ()
    lacks_reason: bool = False
    """Whether it was sent without a reason: the field says so, and has the focus."""
    groups: list[Group] | None = None
    typed: dict[str, str] = field(default_factory=dict)
    is_raw: bool = False
    """Whether the state is edited as JSON, not in fields."""
    raw: str = ""
    """The JSON as it was typed, where it cannot be taken."""

    @property
    def keeps_branch(self) -> bool:
        """Whether the branch of the checkpoint stays as it is; a rewrite supersedes it."""
        return self.is_fork or bool(self.look)

    @property
    def called(self) -> str:
        """What is being made, as a heading begins."""
        return "Corrective branch" if self.look else "Fork" if self.is_fork else "Rewrite"

    @property
    def address(self) -> str:
        """Where the form is, below the checkpoint."""
        return "fork/edit" if self.is_fork else "rewrite"

    @property
    def text(self) -> str:
        """The changes as they travel in the form."""
        return canonical.dumps(self.changes)

    @property
    def listed(self) -> list[tuple[int, str, str, str]]:
        """Each change: its place, what it does, where, and with which value, secrets masked."""
        return [_told(at, one) for at, one in enumerate(self.changes) if isinstance(one, dict)]

    @property
    def reason_area(self) -> str:
        """The reason as the content of a textarea: HTML drops the first line break, so that of the text is kept."""
        return f"\n{self.reason}"

    @property
    def value_area(self) -> str:
        """The value written out so far, the same way."""
        return f"\n{self.typed.get('value', '')}"

    def refused(self, *errors: str) -> Draft:
        """The same with reasons why it cannot be taken."""
        return replace(self, errors=(*self.errors, *errors))


def _told(at: int, one: dict[str, Tree]) -> tuple[int, str, str, str]:
    path = str(one.get("path"))
    value = ""
    if "value" in one:
        value = "••••••••" if hides(path) else canonical.dumps(masked(canonical.dumps(one["value"])))
    return at, str(one.get("op")), path, value
