"""Somebody new in a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import MemberInvited
from reviewhub.accounts.models import Member, Person, Role, Team, Workspace
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.rules import clean_name, one_time_password
from reviewhub.accounts.teams import check_teams
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.core.text import check_text

MAX_EMAIL = 254


class AlreadyMember(Conflict):
    """This person is a member already; enable or change them instead."""

    code = "already_member"


@dataclass(frozen=True)
class Invited:
    """The new member; `password` is shown once and kept nowhere, "" for somebody who has one already."""

    member: Member
    password: str = field(repr=False)


def invite(
    *,
    workspace: Workspace,
    email: str,
    name: str,
    role: str,
    teams: Sequence[Team] = (),
    actor: Actor,
) -> Invited:
    """Makes a person a member of `workspace`: a new one, or the one whose e-mail this is.

    A new person gets a one-time password, good for choosing their own. Somebody known keeps name and
    password.

    Raises:
        Invalid: e-mail, name or role cannot be taken, or a team is of another workspace.
        AlreadyMember: they belong to the workspace already, perhaps disabled.
    """
    address = _clean_email(email)
    clean = clean_name(name)
    if role not in Role.values:
        raise Invalid.at("/role", f"The role must be one of {', '.join(Role.values)}.")
    check_teams(teams, workspace_id=workspace.pk)
    password = one_time_password()
    try:
        with transaction.atomic():
            still_may(actor, Action.PEOPLE_EDIT, Target(workspace_id=workspace.pk))
            person = Person.objects.filter(email=address).first()
            if person is None:
                person = Person.objects.create_user(address, password, name=clean, must_change_password=True)
            else:
                password = ""
            if Member.objects.filter(workspace=workspace, person=person).exists():
                raise AlreadyMember()
            member = Member.objects.create(workspace=workspace, person=person, role=role)
            member.teams.set(teams)
            record(
                "member.invited",
                workspace_id=workspace.pk,
                actor=actor,
                subject_id=member.pk,
                data=MemberInvited(name=person.name, email=address, role=role),
            )
    except IntegrityError as error:
        # Somebody else invited them in the same moment.
        raise AlreadyMember() from error
    return Invited(member=member, password=password)


def _clean_email(text: str) -> str:
    address = text.strip().lower()
    check_text(address, path="/email")
    if len(address) > MAX_EMAIL:
        raise Invalid.at("/email", f"The e-mail address has more than {MAX_EMAIL} characters.", "too_long")
    try:
        validate_email(address)
    except ValidationError as error:
        raise Invalid.at("/email", "This is no e-mail address.") from error
    return address
