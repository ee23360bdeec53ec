"""What happens to people, teams, agents and keys, as audit events."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind

MOST_SAID = 3


def frees_said(frees: list[str]) -> str:
    """Of which calls policy asks less after a change, as the end of a sentence, the first few of them; empty where of
    none."""
    more = [f"{len(frees) - MOST_SAID} more"] if len(frees) > MOST_SAID else []
    return f"; policy asks less: {'; '.join([*frees[:MOST_SAID], *more])}" if frees else ""


@kind("person.signed_in", says="{actor} signed in")
class PersonSignedIn(Payload):
    address: str


@kind("person.sign_in_failed", says="A sign-in as {name} failed")
class SignInFailed(Payload):
    name: str
    address: str


@kind("person.password_changed", says="{actor} changed the password of {name}")
class PasswordChanged(Payload):
    name: str


@kind("person.password_refused", says="A wrong password was given to change that of {name}")
class PasswordRefused(Payload):
    name: str
    address: str


@kind("member.invited", says="{actor} invited {name} as {role}")
class MemberInvited(Payload):
    name: str
    email: str
    role: str


@kind("member.changed", says="{actor} made {name} {role} in {teams_said}")
class MemberChanged(Payload):
    name: str
    role: str
    old_role: str
    teams: list[str]
    old_teams: list[str]

    @property
    def teams_said(self) -> str:
        """The teams as words."""
        return ", ".join(self.teams) or "no team"


@kind("member.disabled", says="{actor} disabled {name}")
class MemberDisabled(Payload):
    name: str


@kind("member.enabled", says="{actor} enabled {name} again")
class MemberEnabled(Payload):
    name: str


@kind("member.password_made", says="{actor} made a one-time password for {name}")
class PasswordMade(Payload):
    name: str


@kind(
    "votes.delegated", says="{actor} lets {to} vote in the place of {name} from {starts_at} until {ends_at}"
)
class VotesDelegated(Payload):
    name: str
    to: str
    starts_at: str
    ends_at: str


@kind("votes.taken_back", says="{actor} ended that {to} votes in the place of {name}")
class VotesTakenBack(Payload):
    name: str
    to: str


@kind("view.saved", says="{actor} saved the view {name} of the {page}")
class ViewSaved(Payload):
    name: str
    page: str
    query: str


@kind("view.removed", says="{actor} removed the view {name} of the {page}")
class ViewRemoved(Payload):
    name: str
    page: str


@kind("team.made", says="{actor} made the team {name}")
class TeamMade(Payload):
    name: str


@kind("team.renamed", says="{actor} renamed the team {old_name} to {name}")
class TeamRenamed(Payload):
    name: str
    old_name: str


@kind("agent.made", says="{actor} registered the agent {name} for {team}")
class AgentMade(Payload):
    name: str
    team: str


@kind("agent.moved", says="{actor} gave the agent {name} to {team}{frees_said}")
class AgentMoved(Payload):
    name: str
    team: str
    old_team: str
    frees: list[str] = []

    @property
    def frees_said(self) -> str:
        """Of which calls policy asks less since, as words."""
        return frees_said(self.frees)


@kind("agent.validation_set", says="{actor} set the checking of states of {name} to {validation}")
class AgentValidationSet(Payload):
    name: str
    validation: str
    before: str


@kind("key.made", says="{actor} made the key {prefix} of {agent} for {environment}{frees_said}")
class KeyMade(Payload):
    agent: str
    prefix: str
    environment: str
    frees: list[str] = []

    @property
    def frees_said(self) -> str:
        """Of which calls policy asks less by this key, as words."""
        return frees_said(self.frees)


@kind("key.rotated", says="{actor} replaced the key {old_prefix} of {agent} by {prefix}")
class KeyRotated(Payload):
    agent: str
    prefix: str
    old_prefix: str
    environment: str


@kind("key.revoked", says="{actor} revoked the key {prefix} of {agent}")
class KeyRevoked(Payload):
    agent: str
    prefix: str
