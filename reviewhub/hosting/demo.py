"""The demo that a fresh installation starts with: a hosted support agent, and a refund that waits for a person."""

from __future__ import annotations

from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.start import start
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.rules import Policy, Rule
from reviewhub.runs.models import Run

NAME = "Support agent (demo)"
GRAPH = "support"
NOTE = "The demo's own rules: it may read orders and write e-mails, refunds wait"
RULES = (
    Rule(name="Demo: orders may be read", tool="shop.read_order", action="allow"),
    Rule(name="Demo: e-mails go out", tool="mail.send", action="allow"),
)
WISH = "Order 8812 arrived with a crushed corner. I want my money back."


def start_demo(*, team: Team, owner: Member | None) -> Run:
    """Adopts the support agent into `team` and starts one run: its refund waits as soon as a worker took it up."""
    agent = adopt(team=team, graph=GRAPH, name=NAME, owner=owner, actor=SYSTEM)
    # Only now: a policy lets tools run that were registered when it was published.
    _let_pass(team)
    return demo_run(agent)


def demo_agent() -> Agent | None:
    """The demo agent of this installation, the one that was made first; None where there is none."""
    return Agent.objects.filter(graph=GRAPH).select_related("team").order_by("created_at").first()


def demo_run(agent: Agent) -> Run:
    """One more run of the demo agent.

    Raises:
        AgentStopped: it is stopped.
    """
    return start(agent=agent, given={"wish": WISH}, actor=SYSTEM, title="Crushed corner, order 8812")


def _let_pass(team: Team) -> None:
    """Puts the demo's rules before those in force, so that only the refund waits."""
    latest = current(team.workspace_id)
    before = parse_policy(latest.rules) if latest else Policy(rules=())
    missing = tuple(rule for rule in RULES if rule not in before.rules)
    if missing:
        text = policy_text(before.model_copy(update={"rules": missing + before.rules}))
        base = latest.number if latest else 0
        publish(workspace=team.workspace, rules_text=text, note=NOTE, base=base, actor=SYSTEM)
