"""An admin publishes a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from django.db import IntegrityError, transaction
from reviewhub_agents.wire.fields import time_text

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Team, Workspace
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.core.text import check_text
from reviewhub.policies.check_conditions import check_conditions
from reviewhub.policies.faults import read_as_far_as_possible
from reviewhub.policies.kinds import PolicyPublished
from reviewhub.policies.known_tools import carry_over, remember
from reviewhub.policies.limit import WaitingLimit
from reviewhub.policies.model import Line
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.rules import Policy, Rule
from reviewhub.policies.text_lengths import too_long

MAX_NOTE = 400


class Changed(Conflict):
    """Somebody else published a policy meanwhile."""

    code = "changed"


def publish(
    *,
    workspace: Workspace,
    rules_text: str,
    note: str,
    base: int,
    actor: Actor,
    looks_at_tools: bool = True,
    restores: int | None = None,
) -> PolicyVersion:
    """Puts a new policy in force, from the next check on and in every process.

    What its rules let run are the tools that are registered now, as they are registered now.

    Args:
        rules_text: the whole policy, JSON `{"guardrails": […], "rules": […]}`. To change guardrails is a permission of
            its own.
        note: what changed and why, in the author's words.
        base: the number of the version that the author started from; 0 for the first policy.
        looks_at_tools: False where nobody looked at tools, as when a team gets another name: what the version before
            lets run is what this one lets run, and a tool that changed meanwhile still waits.
        restores: the number of the version that it brings back (`roll_back`).

    Raises:
        Invalid: the policy is not as it should be, names a team that the workspace does not have, has a condition on
            what the schemas of its tools do not have, or has no note.
        NotAnyMore: the author may not publish any more.
        Changed: another version is in force by now; `extra` says its number, author and time.
    """
    check_note(note)
    policy = checked(rules_text, workspace) if looks_at_tools else parse_policy(rules_text)
    text = policy_text(policy)
    with transaction.atomic():
        latest = current(workspace.id)
        _still_may(policy, latest, actor, Target(workspace_id=workspace.id))
        refuse_unknown_teams(policy, workspace)
        if (latest.number if latest else 0) != base:
            raise _changed(latest)
        version = PolicyVersion(
            workspace=workspace,
            number=base + 1,
            rules=text,
            note=note,
            author_name=actor.name[:200],
            restores=restores,
        )
        try:
            with transaction.atomic():
                version.save(force_insert=True)
        except IntegrityError as error:
            raise _changed(current(workspace.id)) from error
        if looks_at_tools:
            remember(version, policy)
        elif latest is not None:
            carry_over(latest, version)
        digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        data = PolicyPublished(
            number=version.number,
            base=base,
            note=note,
            digest=digest,
            rules=len(policy.rules),
            restores=restores,
        )
        record("policy.published", workspace_id=workspace.id, actor=actor, data=data, subject_id=version.id)
    return version


def check_note(note: str) -> None:
    """Raises Invalid for a note that is empty, or none that can be kept."""
    if not note.strip():
        raise Invalid.at("/note", "Say what changes and why.", "missing")
    check_length(note)


def check_length(note: str) -> None:
    """Raises Invalid for a note that cannot be kept, as it is too long or no text."""
    if len(note) > MAX_NOTE:
        raise Invalid.at("/note", f"has {len(note)} characters; the limit is {MAX_NOTE}", code="too_large")
    check_text(note, path="/note")


def checked(rules_text: str, workspace: Workspace) -> Policy:
    """The policy in a text, with conditions that fit the tools of the workspace, and teams that it has.

    Raises:
        Invalid: with all that is wrong, as far as one fault does not hide another.
    """
    policy, wrong = read_as_far_as_possible(rules_text)
    if policy is not None:
        found = [
            *too_long(policy),
            *check_conditions(policy, workspace.id),
            *_unknown_teams(policy, workspace),
        ]
        told = {one["path"] for one in wrong}
        wrong += [one for one in found if one["path"] not in told]
    if policy is None or wrong:
        raise Invalid(f"{wrong[0]['path'] or '/'}: {wrong[0]['message']}", errors=wrong)
    return policy


def refuse_unknown_teams(policy: Policy, workspace: Workspace) -> None:
    """Raises Invalid naming every rule that names a team which the workspace does not have."""
    if errors := _unknown_teams(policy, workspace):
        raise Invalid("The policy names a team that does not exist.", errors=errors)


def _unknown_teams(policy: Policy, workspace: Workspace) -> list[dict[str, str]]:
    known = set(
        Team.objects.filter(workspace=workspace, name__in=policy.teams()).values_list("name", flat=True)
    )
    return [
        {
            "path": f"/{layer}/{index}/{field}",
            "code": "unknown_team",
            "message": f"There is no team {name!r}.",
        }
        for layer, lines in policy.lines
        for index, line in enumerate(lines)
        for field, name in _teams_said(line)
        if name not in known
    ]


def _teams_said(line: Line) -> Iterator[tuple[str, str]]:
    """Where a rule or a limit names teams, and which."""
    said = [("agent_team", line.agent_team)]
    if not isinstance(line, WaitingLimit):
        said.append(("team", line.team))
    if isinstance(line, Rule):
        said += [(f"stages/{at}/team", stage.team) for at, stage in enumerate(line.stages)]
        said += [(f"escalation/{at}/team", step.team) for at, step in enumerate(line.escalation)]
    return ((field, name) for field, name in said if name is not None)


def _still_may(policy: Policy, latest: PolicyVersion | None, actor: Actor, target: Target) -> None:
    """Rules need one permission, what nothing loosens (guardrails, limits) another. A version that nobody can read
    has none to compare with."""
    still_may(actor, Action.POLICY_EDIT, target)
    try:
        before = parse_policy(latest.rules) if latest else Policy()
    except Invalid:
        before = Policy()
    if (policy.guardrails, policy.caps) != (before.guardrails, before.caps):
        still_may(actor, Action.GUARDRAILS_EDIT, target)


def _changed(latest: PolicyVersion | None) -> Changed:
    if latest is None:
        return Changed("No policy is published yet; start from 0.", number=0)
    return Changed(
        f"{latest.author_name} published v{latest.number} meanwhile.",
        number=latest.number,
        by=latest.author_name,
        at=time_text(latest.published_at),
    )
