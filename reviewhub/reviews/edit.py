"""An edit is a new version of the call: checked, hashed and put to policy again, and it voids earlier votes."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.changes import apply_changes, difference, parse_changes
from reviewhub.core.clock import now
from reviewhub.core.display.masking import masked_changes
from reviewhub.core.display.sentence import pack, plain
from reviewhub.core.errors import Invalid, NotFound, TryAgain
from reviewhub.core.limits import read_arguments
from reviewhub.limits.weigh import look, reserve, weigh
from reviewhub.policies.arguments import Arguments, same_at
from reviewhub.policies.evaluate import CallFacts, Resolved, call_of, evaluate, in_force
from reviewhub.policies.facts import Checked, call_facts, facts_of_tool
from reviewhub.policies.queries import current_number
from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.asked import approval, risk
from reviewhub.reviews.errors import Changed, DeniedByPolicy
from reviewhub.reviews.kinds import RequestChanged
from reviewhub.reviews.lock import LockedRequest
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.request import RANK, Asked, first_step
from reviewhub.reviews.requirement import Held, StandIn, Stored
from reviewhub.reviews.rules import FIRST_VERSION
from reviewhub.reviews.share import share
from reviewhub.reviews.tell_undecided import tell_undecided
from reviewhub.reviews.turn import tell
from reviewhub.runs.note import note_more
from reviewhub.toolcalls.ahead import Ahead
from reviewhub.toolcalls.claims import failed_checks, wishes_of
from reviewhub.toolcalls.likeness import likeness_of
from reviewhub.toolcalls.models import CallVersion, ToolCall
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.toolcalls.words import call_words
from reviewhub.tools.models import Tool
from reviewhub.tools.shown import Shown, shown

EDITED = "edited"
"""Why a vote is void that was about an earlier version."""


class PolicyMoved(TryAgain):
    """Policy is being published, or the tool registered anew, just now; send the same again."""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """New arguments, and what policy of today says to them; made outside the transaction."""

    base_digest: str
    arguments: str
    digest: str
    changes: str
    changes_told: str
    """The changes for the record, without secrets."""
    before_told: str
    """The changes that would lead back, for the record: what stood there, without secrets."""
    answer: Resolved
    asked: Asked | None
    shown: Shown
    likeness: str
    risk: str
    facts: CallFacts
    tool: Tool
    words: str
    first: Arguments
    """As the agent proposed them."""
    new: Arguments

    def ahead(self, call: ToolCall) -> Ahead:
        """The edited version as what was read of it beforehand, once it is the call's."""
        return Ahead(
            version=call.version,
            schema=self.tool.schema,
            arguments=self.arguments,
            tree=self.facts.tree,
            by_schema=Checked(problem=self.facts.schema_problem),
        )


def prepare(*, request_id: uuid.UUID, body: wire.DecideBody) -> Edit:
    """Applies the changes and checks the result.

    Values that no change names keep their bytes.

    Raises:
        Invalid: a change does not fit, or changes a locked field, the result breaks the tool's schema, or nothing
            changed.
        DeniedByPolicy: policy denies the call with these arguments.
        Changed: the call is no longer what was shown.
    """
    call = ToolCall.objects.select_related("agent__team", "run").filter(requests=request_id).first()
    if call is None:
        raise NotFound
    if call.digest != body.digest:
        row = ReviewRequest.objects.get(pk=request_id)
        raise Changed(state=row.state, version=row.version, digest=row.digest)
    tool = Tool.objects.get(agent_id=call.agent_id, name=call.tool_name)
    before = arguments_of(call)
    arguments = apply_changes(before, parse_changes([change.to_tree() for change in body.changes]))
    if arguments == before:
        raise Invalid.at("/changes", "these changes change nothing; approve instead")
    tree = read_arguments(arguments, path="/changes")
    _check_locks(_required(request_id), Arguments(before), Arguments(arguments, tree))
    known = call_facts(
        tool=tool,
        arguments=arguments,
        tree=tree,
        failed_checks=failed_checks(call.claims),
        **wishes_of(call.claims),
    )
    if known.errors:
        raise Invalid("The arguments would not be what the tool's schema allows.", errors=known.errors)
    (answer,) = evaluate(
        workspace_id=call.workspace_id,
        agent=call.agent,
        environment=call.run.environment,
        calls=[known.facts],
    )
    if answer.action == "deny":
        raise DeniedByPolicy(f"Policy denies the call with these arguments. {answer.text}")
    failed, said = len(known.facts.failed_checks), shown(tool, arguments, tree)
    changes = canonical.dumps([change.to_tree() for change in body.changes])
    return Edit(
        base_digest=body.digest,
        arguments=arguments,
        digest=canonical.digest_of(tool=tool.name, canonical_arguments=arguments),
        changes=changes,
        changes_told=canonical.dumps(masked_changes(changes, arguments, tool.schema)),
        before_told=canonical.dumps(masked_changes(_back(arguments, before), before, tool.schema)),
        answer=answer,
        asked=approval(answer=answer, tool=tool, effect=call.effect, shown=said, failed_checks=failed)
        if answer.action == "require"
        else None,
        shown=said,
        likeness=likeness_of(tool=tool.name, arguments=tree),
        risk=risk(tool=tool, effect=call.effect, failed_checks=failed),
        facts=known.facts,
        first=_read(before if call.version == FIRST_VERSION else arguments_of(call, FIRST_VERSION)),
        new=Arguments(arguments, tree),
        tool=tool,
        words=call_words(
            tool=tool.name,
            agent=call.agent.name,
            template=tool.sentence,
            masked=said.masked,
        ),
    )


def apply(*, locked: LockedRequest, edit: Edit, member: Member, actor: Actor) -> Stored:
    """Makes the edit the call's new version, on a locked open request; the requirement that holds from now on.

    Earlier votes are void: they were about something else. Today's policy applies, a team it names joins those that may
    see and decide, and is written to. The deadline stays unless the new one is sooner; reminder and escalation begin
    anew, and whoever an escalation has added stays.

    Raises:
        PolicyMoved: policy was published or the tool changed since the edit was prepared; prepare it once more.
        Changed: the call is no longer what was shown.
        DeniedByPolicy: a limit denies the call with these arguments.
        Invalid: what is required of such a call lets no edit lead to it.
    """
    call, row = locked.call, locked.request
    if current_number(row.workspace_id) != edit.answer.policy_version or _has_changed(edit.tool):
        raise PolicyMoved
    if call.digest != edit.base_digest:
        raise Changed(state=row.state, version=row.version, digest=row.digest)
    old = Stored.model_validate_json(row.requirement)
    stored = _within_limits(call, edit) or old
    _check_reach(edit, stored.requirement)
    held = (*old.held_before, Held(version=row.version, rule=old.rule))
    stored = stored.model_copy(
        update={"stand_ins": _kept(old, stored), "held_before": held, "then": edit.answer.then}
    )
    voided = _void(row)
    _new_version(call, edit, actor)
    known = set(row.teams.values_list("pk", flat=True))
    _update_request(row, edit, stored)
    if new := [team for team in stored.asked_at(0) if team not in known]:
        tell(row, new)
    record(
        "request.changed",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        pause_id=call.pause_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        subject_id=call.pk,
        data=RequestChanged(
            number=row.number,
            version=row.version,
            old_digest=edit.base_digest,
            new_digest=edit.digest,
            changes=edit.changes_told,
            before=edit.before_told,
            votes_voided=len(voided),
            voided=voided,
            rule=stored.rule,
            rule_before=old.rule,
            sentence=row.plain_sentence,
        ),
        arguments=edit.shown.text,
    )
    tell_undecided(
        call=call,
        undecided=edit.answer.undecided,
        policy_version=edit.answer.policy_version,
        request_id=row.pk,
    )
    return stored


def held_then(call: ToolCall, edit: Edit) -> Stored | None:
    """What would be required of the edited call by policy and its limits just now; nothing is taken. None: nothing is.

    Raises:
        DeniedByPolicy: a limit denies the call with these arguments.
    """
    facts, where = edit.facts, call.run.environment
    weighing = look(
        policy=in_force(call.workspace_id).policy,
        agent=call.agent,
        call=call_of(facts, agent=call.agent, environment=where, tools=frozenset()),
        answer=edit.answer,
        again=call.pk,
    )
    return _required_by(weighing.answer, edit, effect=call.effect)


def _within_limits(call: ToolCall, edit: Edit) -> Stored | None:
    """The same, on a locked call, which takes its new part of the limits."""
    (weighing,) = weigh(
        agent=call.agent,
        environment=call.run.environment,
        calls=[(edit.facts, edit.answer)],
        policy=in_force(call.workspace_id).policy,
        again=call.pk,
    )
    found = _required_by(weighing.answer, edit, effect=call.effect)
    reserve(call=call, takes=weighing.within, at=now())
    return found


def _required_by(answer: Resolved, edit: Edit, *, effect: str) -> Stored | None:
    if answer.action == "deny":
        raise DeniedByPolicy(f"Policy denies the call with these arguments. {answer.text}")
    if answer is edit.answer or answer.action != "require":
        return edit.asked.stored if edit.asked else None
    asked = approval(
        answer=answer,
        tool=edit.tool,
        effect=effect,
        shown=edit.shown,
        failed_checks=len(edit.facts.failed_checks),
    )
    return asked.stored


def _void(row: ReviewRequest) -> list[str]:
    """Earlier votes count no more; whose they were, the oldest first."""
    rows = row.reviews.filter(voided_at__isnull=True)
    names = list(rows.order_by("created_at", "id").values_list("name", flat=True))
    rows.update(voided_at=now(), voided_because=EDITED)
    return names


def _new_version(call: ToolCall, edit: Edit, actor: Actor) -> None:
    version = call.version + 1
    CallVersion.objects.create(
        tool_call=call,
        version=version,
        arguments=edit.arguments,
        digest=edit.digest,
        likeness=edit.likeness,
        changes=edit.changes,
        author_kind=actor.kind,
        author_id=actor.id,
        author_name=actor.name,
    )
    ToolCall.objects.filter(pk=call.pk).update(version=version, digest=edit.digest)
    note_more(call.pk, edit.words)
    call.version, call.digest = version, edit.digest


def _update_request(row: ReviewRequest, edit: Edit, stored: Stored) -> None:
    fields: dict[str, Any] = {
        "version": row.version + 1,
        "digest": edit.digest,
        "sentence": pack(edit.shown.sentence),
        "plain_sentence": plain(edit.shown.sentence),
        "requirement": stored.model_dump_json(),
        "approvals_needed": stored.requirement.approvals,
        "on_timeout": stored.requirement.on_timeout,
        "risk": edit.risk,
        "risk_rank": RANK[edit.risk],
        "escalated": 0,
    }
    at, needed = now(), stored.requirement
    for name, seconds in (
        ("deadline_at", needed.deadline_seconds),
        ("remind_at", needed.remind_seconds),
        ("escalate_at", first_step(stored)),
    ):
        fields[name] = at + timedelta(seconds=seconds) if seconds is not None else None
    if row.deadline_at is not None:
        fields["deadline_at"] = min(row.deadline_at, fields["deadline_at"] or row.deadline_at)
    ReviewRequest.objects.filter(pk=row.pk).update(**fields)
    share(row, stored.teams)
    row.refresh_from_db()


def _kept(old: Stored, new: Stored) -> tuple[StandIn, ...]:
    """Whoever an escalation has added may decide the new version, too, where a team is asked that they stood in for."""
    kept = []
    for one in old.stand_ins:
        teams = {old.teams[at] for at in one.stages}
        stages = tuple(at for at, team in enumerate(new.teams) if team in teams)
        kept.append(one.model_copy(update={"stages": stages}))
    return tuple(kept)


def _back(after: str, before: str) -> str:
    return canonical.dumps([change.as_tree() for change in difference(after, before)])


def _required(request_id: uuid.UUID) -> Requirement:
    text = ReviewRequest.objects.values_list("requirement", flat=True).get(pk=request_id)
    return Stored.model_validate_json(text).requirement


def _check_locks(requirement: Requirement, old: Arguments, new: Arguments) -> None:
    """Refuses an edit that changes, adds or removes what a requirement keeps as it is."""
    errors = [
        {"path": "/changes", "code": "locked", "message": f"{path} is locked; no edit changes it."}
        for path in requirement.locked_fields
        if not same_at(old, new, path)
    ]
    if errors:
        raise Invalid(errors[0]["message"], errors=errors)


def _check_reach(edit: Edit, required: Requirement) -> None:
    """Refuses an edit that leads to where another requirement keeps people from leading it.

    What is locked there is as the agent proposed it, whichever edits lie between: else one edit could lead out of the
    lock and the next one back in.
    """
    if "edit" not in required.allowed_decisions:
        raise Invalid.at(
            "/changes", "such a call is taken only as it was proposed; no edit makes one", "locked"
        )
    _check_locks(required, edit.first, edit.new)


def _read(text: str) -> Arguments:
    """Arguments with their value, which is found out now and not when somebody asks for it."""
    return Arguments(text, canonical.reread(text))


def _has_changed(tool: Tool) -> bool:
    """Whether a tool was registered otherwise since it was read, in its schema or in what policy asks of it."""
    now_ = Tool.objects.get(pk=tool.pk)
    return now_.schema != tool.schema or facts_of_tool(now_) != facts_of_tool(tool)
