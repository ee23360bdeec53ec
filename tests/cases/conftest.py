"""What the cases share: an agent of Support, its reviewer bob, and a tool that counts how often it ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of
from tests.shared import shared


@dataclass
class Exec:
    """A tool with a side effect: it runs only with what consume hands out, and remembers that."""

    agent: AgentHttp
    ran: list[str] = field(default_factory=list)

    def attempt(self, call: Any) -> bool:
        """Runs the tool if the server lets this call be consumed; whether it ran."""
        now = self.agent.get(f"/tool-calls/{call['id']}").ok()
        taken = self.agent.consume(now)
        if taken.status != 200:
            return False
        self.ran.append(taken.json["arguments_text"])
        self.agent.outcome(now, result={"ok": True}).ok()
        return True


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def tool(agent: AgentHttp) -> Exec:
    return Exec(agent)


@shared
def reviewer(cast: Cast) -> PersonHttp:
    """Bob, signed in."""
    return PersonHttp(cast.bob)


@shared
def admin(cast: Cast) -> PersonHttp:
    """Alice, signed in."""
    return PersonHttp(cast.alice)


@shared
def stranger(cast: Cast) -> PersonHttp:
    """Mallory, admin of another workspace, signed in."""
    return PersonHttp(cast.mallory)
