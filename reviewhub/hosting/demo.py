"""The demos: hosted agents with real effects on local files, each with rules that let pass what needs nobody.

A fresh installation starts with the support agent, and a refund that waits for a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.start import start
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.rules import Condition, Policy, Rule
from reviewhub.runs.models import Run

NOTE = "The demo's own rules: what only reads, writes e-mails or books passes, the rest waits"
WISH = "Order 8812 arrived with a crushed corner. I want my money back."


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A demo agent: its graph, what it is called, one run of it, and what waits for people then; of what waits for
    nobody a sample is looked at afterwards."""

    graph: str
    name: str
    title: str
    waits: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()


def _passes(what: str, tool: str) -> Rule:
    return Rule(name=f"Demo: {what}", tool=tool, action="allow")


SUPPORT = Demo(
    graph="support",
    name="Support agent (demo)",
    title="Crushed corner, order 8812",
    waits="its refund",
    given={"wish": WISH},
    rules=(_passes("orders may be read", "shop.read_order"), _passes("e-mails go out", "mail.send")),
)
OUTREACH = Demo(
    graph="outreach",
    name="Outreach agent (demo)",
    title="Letters to old customers",
    rules=(
        _passes("customers may be read", "crm.customer"),
        Rule(
            name="Demo: drafts are looked at afterwards",
            tool="mail.draft",
            action="observe",
            sample_percent=15,
        ),
    ),
)
DEMOS = {
    demo.graph: demo
    for demo in (
        SUPPORT,
        Demo(
            graph="migration",
            name="Migration agent (demo)",
            title="Split the customers' names",
            waits="its SQL",
            rules=(_passes("schemas may be read", "db.schema"), _passes("SQL may be tried", "db.try")),
        ),
        Demo(
            graph="claims",
            name="Claims agent (demo)",
            title="A batch of 200 claims",
            waits="its second plan, after twenty documents, and then its payment",
            rules=(
                Rule(
                    name="Demo: another plan is approved",
                    tool="rh.plan",
                    action="require",
                    when=(Condition(path="version", test="is_over", value=1),),
                ),
                _passes("claims may be read", "claims.read"),
                _passes("claims may be booked", "claims.book"),
            ),
        ),
        OUTREACH,
        Demo(
            graph="triage",
            name="Triage agent (demo)",
            title="A morning's messages",
            waits="the credit in one of its child runs",
            rules=(
                _passes("messages may be read", "desk.message"),
                _passes("answers may be filed", "desk.answer"),
                _passes("reports may be filed", "desk.report"),
            ),
        ),
    )
}
RULES = SUPPORT.rules


def start_demo(*, team: Team, owner: Member | None, demo: Demo = SUPPORT) -> Run:
    """Adopts a demo agent into `team`, the first time with its rules, and starts one run of it.

    Raises:
        AgentStopped: it is here already, and stopped.
    """
    is_new = not Agent.objects.filter(workspace=team.workspace_id, name=demo.name).exists()
    agent = adopt(team=team, graph=demo.graph, name=demo.name, owner=owner, actor=SYSTEM)
    if is_new:
        # Only now: a policy lets tools run that were registered when it was published.
        _let_pass(team, demo)
    return start(agent=agent, given=dict(demo.given), actor=SYSTEM, title=demo.title)


def demo_agent() -> Agent | None:
    """The support agent of this installation, the one that was made first; None where there is none."""
    found = Agent.objects.filter(graph=SUPPORT.graph).select_related("team").order_by("created_at")
    return found.first()


def _let_pass(team: Team, demo: Demo) -> None:
    """Puts the demo's rules before those in force, so that only what cannot be undone waits."""
    latest = current(team.workspace_id)
    before = parse_policy(latest.rules) if latest else Policy(rules=())
    missing = tuple(rule for rule in demo.rules if rule not in before.rules)
    if missing:
        text = policy_text(before.model_copy(update={"rules": missing + before.rules}))
        base = latest.number if latest else 0
        publish(workspace=team.workspace, rules_text=text, note=NOTE, base=base, actor=SYSTEM)
