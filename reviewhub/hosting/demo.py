"""The demo that a fresh installation starts with: a hosted support agent, and a refund that waits for a person."""

from __future__ import annotations

from reviewhub.accounts.models import Member, Team
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.start import start
from reviewhub.runs.models import Run

NAME = "Support agent (demo)"
RULES = (
    {"name": "Reading orders", "tool": "shop.read_order", "action": "allow"},
    {"name": "E-mails to customers", "tool": "mail.send", "action": "allow"},
)
"""What the first policy has to say before "everything needs approval", so that only the refund waits."""
WISH = "Order 8812 arrived with a crushed corner. I want my money back."


def start_demo(*, team: Team, owner: Member | None) -> Run:
    """Adopts the support agent into `team` and starts one run; its refund waits as soon as a worker took it up."""
    agent = adopt(team=team, graph="support", name=NAME, owner=owner, actor=SYSTEM)
    return start(agent=agent, given={"wish": WISH}, actor=SYSTEM, title="Crushed corner, order 8812")
