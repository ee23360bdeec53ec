"""A team gets another name, in the policy too: rules name teams."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import TeamRenamed
from reviewhub.accounts.make_team import NameTaken
from reviewhub.accounts.models import Team
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.rules import clean_name
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
from reviewhub.policies.loosening import looks_at_team, says
from reviewhub.policies.model import Line
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.rules import Policy


class NamedInExpression(Conflict):
    """An expression asks for the team by its name; nobody but its author can say it anew."""

    code = "named_in_expression"


def rename_team(*, team: Team, name: str, actor: Actor) -> Team:
    """Gives `team` another name; where the policy in force names it, a version with the new name is published.

    Raises:
        Invalid: the name cannot be taken.
        NamedInExpression: an expression of the policy in force may ask for the team by its old name and not by the new.
        NameTaken: another team has it, be it in other letter case.
        Changed: somebody published a policy in this very moment.
    """
    clean = clean_name(name)
    try:
        with transaction.atomic():
            still_may(actor, Action.PEOPLE_EDIT, Target(workspace_id=team.workspace_id))
            row = Team.objects.select_for_update(no_key=True).select_related("workspace").get(pk=team.pk)
            if row.name == clean:
                return row
            _refuse_if_asked_for(row, clean)
            old, row.name = row.name, clean
            row.save(update_fields=["name", "folded"])
            record(
                "team.renamed",
                workspace_id=row.workspace_id,
                actor=actor,
                subject_id=row.pk,
                data=TeamRenamed(name=clean, old_name=old),
            )
            _rename_in_policy(row, old, actor)
    except IntegrityError as error:
        raise NameTaken() from error
    return row


def _refuse_if_asked_for(team: Team, new: str) -> None:
    """A rule that asks for a name in its expression would be about other calls after it, and nobody would be told."""
    latest = current(team.workspace_id)
    policy = parse_policy(latest.rules) if latest else Policy()
    for line in (*policy.guardrails, *policy.rules):
        if looks_at_team(line) and says(line, team.name) and not says(line, new):
            raise NamedInExpression(
                f"The expression of {line.name} asks for the team {team.name}. Let it ask for both names first, "
                f"as in team in ['{team.name}', '{new}']."
            )


def _rename_in_policy(team: Team, old: str, actor: Actor) -> None:
    latest = current(team.workspace_id)
    policy = parse_policy(latest.rules) if latest else Policy()
    if latest is None or old not in policy.teams():
        return
    layers = {
        layer: tuple(_renamed(line, old, team.name) for line in lines)
        for layer, lines in policy.lines
        if lines
    }
    publish(
        workspace=team.workspace,
        rules_text=policy_text(policy.model_copy(update=layers)),
        note=f"The team {old} is called {team.name} now",
        base=latest.number,
        actor=actor,
        looks_at_tools=False,
    )


def _renamed(line: Line, old: str, new: str) -> Line:
    changed: dict[str, object] = {
        field: new for field in ("team", "agent_team") if getattr(line, field, None) == old
    }
    for field in ("stages", "escalation"):
        before = getattr(line, field, ())
        after = tuple(one.model_copy(update={"team": new}) if one.team == old else one for one in before)
        if after != before:
            changed[field] = after
    return line.model_copy(update=changed) if changed else line
