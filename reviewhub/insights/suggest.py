"""Rules that history suggests: what people always approve could run without them."""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import F
from django.db.models.functions import Length
from reviewhub_agents import canonical

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.insights.bounds import Bounds, Decided, bounds, numbers_of, texts_of
from reviewhub.policies import rules
from reviewhub.policies.evaluate import InForce, answer_of, call_of, in_force
from reviewhub.policies.facts import call_facts
from reviewhub.policies.names import oddities
from reviewhub.policies.rules import Rule
from reviewhub.toolcalls.models import CallVersion, Decision
from reviewhub.tools.models import Tool

DAYS = 60
MOST_DECISIONS = 5000
MOST_CHARACTERS = 10_000
MOST_TOOLS = 200
MOST = 20


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A rule, and the approvals that speak for it. `sample`: arguments of a call that it would let run."""

    key: str
    agent: Agent
    tool: Tool
    environment: str
    bounds: Bounds
    rule: Rule
    sample: str

    @property
    def call(self) -> rules.Call:
        """The sample as policy sees it, by a tool that is registered as it is."""
        facts = call_facts(tool=self.tool, arguments=self.sample).facts
        tools = frozenset({(self.agent.pk, self.tool.name, self.tool.schema_fingerprint)})
        return call_of(facts, agent=self.agent, environment=self.environment, tools=tools)


@dataclass
class _Group:
    """What people decided on calls of one tool of one agent in one environment."""

    decided: list[Decided] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)


def suggestions(workspace_id: uuid.UUID) -> list[Suggestion]:
    """What people approved again and again in the last days, and never otherwise; the most frequent first.

    Left out is what policy lets run by now, what a guardrail holds anyway, and tools that nothing lets run.
    """
    groups, published = _groups(workspace_id), in_force(workspace_id)
    agents = {row.pk: row for row in Agent.objects.filter(workspace_id=workspace_id).select_related("team")}
    found = []
    for (agent_id, name, environment), group in list(groups.items())[:MOST_TOOLS]:
        given = bounds(group.decided)
        tool = Tool.objects.filter(agent_id=agent_id, name=name, registered_at__isnull=False).first()
        if given is None or tool is None or oddities(name):
            continue
        one = _suggestion(agents[agent_id], tool, environment, given, group)
        if one is not None and _helps(one, published):
            found.append(one)
    return sorted(found, key=lambda one: (-one.bounds.count, one.key))[:MOST]


def _groups(workspace_id: uuid.UUID) -> dict[tuple[uuid.UUID, str, str], _Group]:
    rows = Decision.objects.filter(
        workspace_id=workspace_id, by_kind="person", decided_at__gte=now() - timedelta(days=DAYS)
    ).order_by("-decided_at")
    fields = (
        "tool_call_id",
        "type",
        "tool_call__agent_id",
        "tool_call__tool_name",
        "tool_call__run__environment",
    )
    last = {row[0]: row for row in reversed(rows.values_list(*fields)[:MOST_DECISIONS])}
    texts = dict(
        CallVersion.objects.filter(tool_call_id__in=list(last), version=F("tool_call__version"))
        .annotate(size=Length("arguments"))
        .filter(size__lte=MOST_CHARACTERS)
        .values_list("tool_call_id", "arguments")
    )
    groups: dict[tuple[uuid.UUID, str, str], _Group] = defaultdict(_Group)
    for call_id, kind, agent_id, name, environment in last.values():
        text = texts.get(call_id, "{}")
        group = groups[agent_id, name, environment]
        tree = canonical.reread(text)
        group.decided.append(Decided(kind == "approve", numbers_of(tree), texts_of(tree)))
        group.samples.append(text)
    return groups


def _suggestion(
    agent: Agent, tool: Tool, environment: str, given: Bounds, group: _Group
) -> Suggestion | None:
    words = " ".join(filter(None, [tool.name, given.words]))
    rule = Rule(
        name=words[:200], tool=tool.name, agent=agent.name, environment=environment, when=given.when, action="allow"
    )  # fmt: skip
    key = hashlib.sha256(canonical.dumps(rule.model_dump(mode="json")).encode()).hexdigest()[:16]
    for sample in reversed(group.samples):
        one = Suggestion(
            key=key, agent=agent, tool=tool, environment=environment, bounds=given, rule=rule, sample=sample
        )
        if rules.evaluate(rules.Policy(rules=(rule,)), one.call).action == "allow":
            return one
    return None


def _helps(one: Suggestion, published: InForce) -> bool:
    answer = answer_of(published, one.call)
    return answer.action == "require" and answer.layer == "rule"
