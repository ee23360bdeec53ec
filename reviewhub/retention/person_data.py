"""What is kept about one person, as JSON lines: of a member, or of somebody whom agents started runs for.

Each line is an object with `about`, which says what it is. What is masked on the pages is masked here, too: a person's
data are no way to an agent's secrets.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.db.models import Model, QuerySet
from reviewhub_agents import canonical

from reviewhub.accounts.models import Delegation, Member, SavedView
from reviewhub.audit.export import Bundle
from reviewhub.audit.plain import entries_of
from reviewhub.audit.queries import Filters
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.display.masking import masked
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.deliveries.models import Email
from reviewhub.retention.kinds import PersonExported
from reviewhub.reviews.models import Comment, FollowUp, PostReview, Question, Review, ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.standing.models import StandingApproval
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from reviewhub.tools.models import Tool

BATCH: Final = 500
Lines = Iterator[dict[str, Any]]


def export_member(*, member: Member, actor: Actor) -> Bundle:
    """What this workspace keeps about a member. Recorded before the first line; must run in a transaction."""
    _record(member.workspace_id, actor, member.person.name, member.pk)
    return Bundle(name="person.jsonl", lines=_written(_of_member(member)))


def export_subject(*, workspace_id: uuid.UUID, on_behalf_of: str, actor: Actor) -> Bundle:
    """What the runs hold that were started on behalf of somebody, exactly as the agents named them.

    Recorded before the first line; must run in a transaction.

    Raises:
        Invalid: no name is given.
        NotFound: no run of the workspace was started for them.
    """
    if not on_behalf_of.strip():
        raise Invalid.at("/on_behalf_of", "Say whose runs.", "missing")
    runs = Run.objects.filter(workspace_id=workspace_id, on_behalf_of=on_behalf_of)
    if not runs.exists():
        raise NotFound("No run was started on behalf of this person.")
    _record(workspace_id, actor, on_behalf_of, None)
    return Bundle(name="person.jsonl", lines=_written(_of_subject(runs)))


def _record(workspace_id: uuid.UUID, actor: Actor, who: str, subject: uuid.UUID | None) -> None:
    record(
        "person.exported",
        workspace_id=workspace_id,
        actor=actor,
        subject_id=subject,
        data=PersonExported(who=who[:200]),
    )


def _of_member(member: Member) -> Lines:
    person = member.person
    yield {
        "about": "account",
        **_row(person, "id", "name", "email", "is_active", "theme", "zone", "created_at"),
    }
    teams = [team.name for team in member.teams.all()]
    yield {
        "about": "membership",
        "teams": teams,
        **_row(member, "id", "role", "is_active", "created_at"),
    }
    both = Delegation.objects.filter(member=member) | Delegation.objects.filter(to=member)
    yield from _rows("stand-in", both, "id", "member_id", "to_id", "starts_at", "ends_at", "ended_at")
    yield from _rows("saved view", SavedView.objects.filter(member=member), "id", "page", "name", "query")
    votes = Review.objects.filter(member=member)
    yield from _rows(
        "vote", votes, "id", "request_id", "name", "verdict", "message", "note", "created_at", "voided_at"
    )
    decisions = Decision.objects.filter(workspace_id=member.workspace_id, by_kind="person", by_id=member.pk)
    yield from _rows(
        "decision", decisions, "id", "request_id", "by_name", "type", "message", "note", "decided_at"
    )
    edits = CallVersion.objects.filter(author_kind="person", author_id=member.pk)
    yield from _rows("edit", edits, "id", "tool_call_id", "version", "author_name", "created_at")
    for about, model in (("comment", Comment), ("question", Question)):
        rows = model._default_manager.filter(member=member)
        yield from _rows(about, rows, "id", "request_id", "name", "text", "created_at")
    looks = PostReview.objects.filter(member=member)
    yield from _rows("post-review", looks, "id", "member_name", "state", "severity", "note", "reviewed_at")
    flags = FollowUp.objects.filter(member=member)
    yield from _rows("follow-up", flags, "id", "name", "kind", "note", "created_at")
    standing = StandingApproval.objects.filter(owner=member)
    yield from _rows("standing approval", standing, "id", "owner_name", "tool_name", "until", "created_at")
    mails = Email.objects.filter(workspace_id=member.workspace_id, to=person.email)
    yield from _rows("e-mail", mails, "id", "to", "subject", "body", "created_at", "sent_at")
    yield from _events(member.workspace_id, Filters(actor_id=member.pk))
    yield from _events(member.workspace_id, Filters(subject_id=member.pk))


def _of_subject(runs: QuerySet[Run]) -> Lines:
    for run in runs.order_by("created_at", "id").iterator(BATCH):
        yield {
            "about": "run",
            "input": masked(run.input),
            "result": masked(run.result),
            "labels": masked(run.labels),
            **_row(run, "id", "on_behalf_of", "external_id", "title", "state", "error", "created_at"),
        }
        schemas = dict(Tool.objects.filter(agent_id=run.agent_id).values_list("name", "schema"))
        for call in ToolCall.objects.filter(run=run).order_by("created_at", "id").iterator(BATCH):
            for version in call.versions.order_by("version"):
                yield {
                    "about": "tool call",
                    "arguments": masked(version.arguments, schemas.get(call.tool_name, "")),
                    "result": masked(call.result) if call.result else None,
                    "version": version.version,
                    **_row(call, "id", "run_id", "tool_name", "state", "error", "created_at"),
                }
        requests = ReviewRequest.objects.filter(run=run)
        yield from _rows("request", requests, "id", "number", "plain_sentence", "state", "created_at")
        yield from _events(run.workspace_id, Filters(run_id=run.pk))


def _events(workspace_id: uuid.UUID, filters: Filters) -> Lines:
    for entry in entries_of(workspace_id, filters):
        yield {"about": "event", **entry}


def _rows(about: str, rows: QuerySet[Any], *names: str) -> Lines:
    for row in rows.order_by("pk").iterator(BATCH):
        yield {"about": about, **_row(row, *names)}


def _row(row: Model, *names: str) -> dict[str, Any]:
    return {name: _value(getattr(row, name)) for name in names}


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _written(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """What looks like a secret is masked in every text, also where there is no schema that says so."""
    for line in lines:
        yield canonical.dumps(masked(canonical.dumps(line))).encode() + b"\n"
