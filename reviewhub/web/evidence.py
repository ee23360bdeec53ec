"""What a reviewer decides on: the exact arguments, why they wait, and what the agent claims about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from reviewhub_agents import canonical

from reviewhub.accounts.permissions import MemberCaller
from reviewhub.core.display import arguments, segments
from reviewhub.core.display.arguments import Arguments, Row
from reviewhub.core.display.changed import Differences, differences
from reviewhub.core.display.segments import Segment
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.toolcalls.models import CallVersion
from reviewhub.toolcalls.modeltext import DO_NOT_REPEAT
from reviewhub.tools.models import Tool
from reviewhub.web.checks import Check, verdicts_on
from reviewhub.web.dangers import dangers
from reviewhub.web.raw_edit import raw_text

WORD_CHARACTERS = 1000
VERSIONS = 6  # of which the changes are shown
SPEAKS_TO_AGENT = (
    "system note",
    "system prompt",
    "ignore previous",
    "ignore all",
    "pre-approved",
    "preapproved",
    "you must approve",
    "do not ask",
    "as an ai",
)


@dataclass(frozen=True)
class Shown:
    """Something that the agent shows for its call."""

    title: str
    url: str
    text: Row | None


@dataclass(frozen=True)
class Claims:
    """What the agent wrote beside tool and arguments. Never verified."""

    reason: Row | None = None
    checks: list[Check] = field(default_factory=list)
    evidence: list[Shown] = field(default_factory=list)
    facts: Arguments | None = None

    @property
    def failed(self) -> int:
        """How many checks failed by the agent's own account."""
        return sum(check.is_bad for check in self.checks)


@dataclass(frozen=True)
class Edited:
    """One version that a person made of a call, with what it changed."""

    by: str
    at: datetime
    version: int
    changes: Differences


@dataclass(frozen=True)
class Evidence:
    """Everything about one version of one call."""

    text: str
    arguments: Arguments
    tool: Tool | None
    requirement: Stored
    claims: Claims
    votes: list[Review]
    versions: list[CallVersion]  # the newest first
    secret_paths: frozenset[str]
    verdicts: list[Check] = field(default_factory=list)

    @property
    def checks(self) -> list[Check]:
        """What others say of the call, then what the agent says."""
        return [*self.verdicts, *self.claims.checks]

    @property
    def failed(self) -> int:
        """How many of them speak against it."""
        return sum(check.is_bad for check in self.checks)

    @property
    def raw(self) -> tuple[Segment, ...]:
        """The arguments as indented JSON, masked, the numbers as written."""
        return segments.split(raw_text(self.text, self.secret_paths))

    @property
    def hides(self) -> bool:
        """Whether any value on the page is masked."""
        return any(row.secret for row in self.arguments.rows)

    @property
    def is_huge(self) -> bool:
        """Whether the raw text is too long to stand in the page."""
        return len(self.text) > arguments.INLINE_CHARACTERS

    def edits(self) -> list[Edited]:
        """What people changed, the newest first."""
        schema = self.tool.schema if self.tool else ""
        found: list[Edited] = []
        for new, old in pairwise(self.versions):
            secret = self.secret_paths | write_only_paths(schema, old.arguments)
            changes = differences(old.arguments, new.arguments, secret_paths=secret)
            found.append(Edited(new.author_name, new.created_at, new.version, changes))
        return found

    @property
    def counted(self) -> list[Review]:
        """The votes that count for the version on the page."""
        return [vote for vote in self.votes if vote.voided_at is None]


def evidence(row: ReviewRequest, caller: MemberCaller) -> Evidence:
    """The evidence for a request; the same number of queries for any."""
    known = CallVersion.objects.filter(tool_call_id=row.tool_call_id, version__lte=row.version)
    versions = list(known.order_by("-version")[:VERSIONS])
    version = versions[0]
    tool = one_or_none(Tool.objects.filter(agent_id=row.agent_id, name=row.tool_name))
    secret_paths = write_only_paths(tool.schema if tool else "", version.arguments)
    stored = Stored.model_validate_json(row.requirement)
    risks = dangers(row.workspace_id, stored)
    return Evidence(
        text=version.arguments,
        arguments=arguments.rows(version.arguments, secret_paths=secret_paths, risks=risks),
        tool=tool,
        requirement=stored,
        claims=claims(row.tool_call.claims),
        verdicts=verdicts_on([row.tool_call]).get(row.tool_call_id, []),
        votes=list(row.reviews.select_related("member").order_by("created_at")),
        versions=versions,
        secret_paths=secret_paths,
    )


def claims(text: str) -> Claims:
    """What the agent claimed, from its canonical text; what has another form is left out."""
    tree = canonical.reread(text)
    if not isinstance(tree, dict):
        return Claims()
    checks = [
        Check(_word(one, "name"), _word(one, "status"), _word(one, "detail"), _word(one, "source"))
        for one in _objects(tree.get("checks"))
    ]
    given = [
        Shown(_word(one, "title"), _word(one, "url"), _row(f"/evidence/{at}/text", one.get("text")))
        for at, one in enumerate(_objects(tree.get("evidence")))
    ]
    facts = tree.get("facts")
    return Claims(
        reason=_row("/reason", tree.get("reason")),
        checks=checks,
        evidence=given,
        facts=arguments.rows(canonical.dumps(facts)) if facts else None,
    )


def speaks_to_agent(text: str) -> bool:
    """Whether text from outside reads as if it gave the agent orders; only a hint for the reader.

    What ReviewHub itself tells an agent that is refused stands in the conversation too, and is no text from outside.
    """
    lowered = text.replace(DO_NOT_REPEAT, "").lower()
    return any(phrase in lowered for phrase in SPEAKS_TO_AGENT)


def _objects(value: canonical.Tree | None) -> list[dict[str, canonical.Tree]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _row(path: str, value: canonical.Tree) -> Row | None:
    return arguments.text_row(path, value) if isinstance(value, str) and value else None


def _word(one: dict[str, canonical.Tree], name: str) -> str:
    value = one.get(name)
    return value[:WORD_CHARACTERS] if isinstance(value, str) else ""
