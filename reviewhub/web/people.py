"""People and teams of a workspace."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviewhub.accounts.change_role import change_role
from reviewhub.accounts.enable import enable as enable_member
from reviewhub.accounts.invite import invite as invite_person
from reviewhub.accounts.make_team import make_team as new_team
from reviewhub.accounts.models import Member, Role, Team
from reviewhub.accounts.new_password import new_password as password_for
from reviewhub.accounts.permissions import Action, MemberCaller, Target
from reviewhub.accounts.queries import members_of, teams_of
from reviewhub.accounts.set_teams import set_teams
from reviewhub.core.errors import Conflict, Invalid, NotFound, ReviewHubError
from reviewhub.core.rows import one_or_none
from reviewhub.policies.rename_team import rename_team as give_name
from reviewhub.reviews.disable_member import disable_member
from reviewhub.web.access import actor, page, posted
from reviewhub.web.forms import words
from reviewhub.web.render import may, show

STRANDED_SHOWN = 20


@require_safe
@page(Action.PEOPLE_READ)
def people(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """Everybody, and the teams."""
    return people_page(request, caller)


def people_page(
    request: HttpRequest,
    caller: MemberCaller,
    *,
    shown: dict[str, str] | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """The page, perhaps with a password that is shown this once."""
    context = {
        "members": members_of(caller.workspace_id),
        "teams": teams_of(caller.workspace_id),
        "roles": Role.choices,
        "may_edit": may(caller, Action.PEOPLE_EDIT),
        "may_erase": may(caller, Action.RUN_ERASE),
        "may_audit": may(caller, Action.AUDIT_READ),
        "shown": shown,
        "given": {},
        **more,
    }
    return show(request, caller, "web/people.html", context, nav="people", status=status)


def _again(request: HttpRequest, caller: MemberCaller, error: ReviewHubError) -> HttpResponse:
    given = request.POST
    return people_page(
        request,
        caller,
        errors=words(error),
        given=given,
        given_teams=given.getlist("teams"),
        status=error.status,
    )


def _again_of(request: HttpRequest, caller: MemberCaller, member: Member, error: Invalid) -> HttpResponse:
    return people_page(request, caller, errors=words(error), status=error.status)


def _team_again(request: HttpRequest, caller: MemberCaller, error: ReviewHubError) -> HttpResponse:
    typed = request.POST.get("name", "")
    return people_page(request, caller, errors=words(error), new_team=typed, status=error.status)


@posted
@page(Action.PEOPLE_EDIT, again=_again)
def invite(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """A new member; the one-time password is shown here and kept nowhere."""
    given = request.POST
    try:
        made = invite_person(
            workspace=caller.member.workspace,
            email=given.get("email", ""),
            name=given.get("name", ""),
            role=given.get("role", ""),
            teams=_teams(caller, given),
            actor=actor(request, caller),
        )
    except Conflict as error:
        return _again(request, caller, error)
    shown = {"name": made.member.person.name, "email": made.member.person.email, "password": made.password}
    return people_page(request, caller, shown=shown)


def find(caller: MemberCaller, member_id: uuid.UUID) -> tuple[Member, Target]:
    """A member of the workspace."""
    rows = Member.objects.select_related("person", "workspace")
    row = one_or_none(rows.filter(pk=member_id, workspace_id=caller.workspace_id))
    if row is None:
        raise NotFound
    return row, Target(workspace_id=row.workspace_id)


@posted
@page(Action.PEOPLE_EDIT, of=find, again=_again_of)
def change(request: HttpRequest, caller: MemberCaller, member: Member) -> HttpResponse:
    """Role and teams of a member."""

    def act() -> None:
        change_role(member=member, role=request.POST.get("role", ""), actor=actor(request, caller))
        set_teams(member=member, teams=_teams(caller, request.POST), actor=actor(request, caller))

    return _done(request, caller, act, f"{member.person.name} is changed.")


@posted
@page(Action.PEOPLE_EDIT, of=find)
def disable(request: HttpRequest, caller: MemberCaller, member: Member) -> HttpResponse:
    """Ends somebody's access at once."""

    def act() -> None:
        stranded = disable_member(member=member, actor=actor(request, caller))
        if stranded:
            numbers = ", ".join(f"#{row.number}" for row in stranded[:STRANDED_SHOWN])
            messages.warning(
                request, f"Nobody can decide these any more: {numbers}. Add people to their teams."
            )

    return _done(request, caller, act, f"{member.person.name} is disabled; every session has ended.")


@posted
@page(Action.PEOPLE_EDIT, of=find)
def enable(request: HttpRequest, caller: MemberCaller, member: Member) -> HttpResponse:
    """Lets somebody in again."""

    def act() -> None:
        enable_member(member=member, actor=actor(request, caller))

    return _done(request, caller, act, f"{member.person.name} may sign in again.")


@posted
@page(Action.PEOPLE_EDIT, of=find)
def new_password(request: HttpRequest, caller: MemberCaller, member: Member) -> HttpResponse:
    """A one-time password, shown here and kept nowhere."""
    try:
        password = password_for(member=member, actor=actor(request, caller))
    except ReviewHubError as error:
        return people_page(request, caller, errors=words(error), status=error.status)
    shown = {"name": member.person.name, "email": member.person.email, "password": password}
    return people_page(request, caller, shown=shown)


@posted
@page(Action.PEOPLE_EDIT, again=_team_again)
def make_team(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """A new team."""
    name = request.POST.get("name", "")
    try:
        new_team(workspace=caller.member.workspace, name=name, actor=actor(request, caller))
    except Conflict as error:
        return _team_again(request, caller, error)
    messages.success(request, f"Team {name.strip()} is there. Add people to it.")
    return redirect(f"/{caller.member.workspace.slug}/people")


def find_team(caller: MemberCaller, team_id: uuid.UUID) -> tuple[Team, Target]:
    """A team of the workspace."""
    row = one_or_none(Team.objects.filter(pk=team_id, workspace_id=caller.workspace_id))
    if row is None:
        raise NotFound
    return row, Target(workspace_id=row.workspace_id)


def _rename_again(
    request: HttpRequest, caller: MemberCaller, team: Team, error: ReviewHubError
) -> HttpResponse:
    return people_page(
        request, caller, errors=words(error), of=team.pk, typed=request.POST, status=error.status
    )


@posted
@page(Action.PEOPLE_EDIT, of=find_team, again=_rename_again)
def rename_team(request: HttpRequest, caller: MemberCaller, team: Team) -> HttpResponse:
    """Another name for a team, in the policy too."""
    before, name = team.name, request.POST.get("name", "")
    try:
        give_name(team=team, name=name, actor=actor(request, caller))
    except Conflict as error:
        return _rename_again(request, caller, team, error)
    messages.success(request, f"The team {before} is called {name.strip()} now.")
    return redirect(f"/{caller.member.workspace.slug}/people")


def _done(request: HttpRequest, caller: MemberCaller, act: Callable[[], None], said: str) -> HttpResponse:
    """Does it and goes back to the page; what went wrong is said there."""
    try:
        act()
    except ReviewHubError as error:
        return people_page(request, caller, errors=words(error), status=error.status)
    messages.success(request, said)
    return redirect(f"/{caller.member.workspace.slug}/people")


def _teams(caller: MemberCaller, given: QueryDict) -> list[Team]:
    """The ticked teams; one that is not of this workspace is refused."""
    ids = given.getlist("teams")
    try:
        wanted = {uuid.UUID(one) for one in ids}
    except ValueError as error:
        raise Invalid.at("/teams", "There is no such team.") from error
    found = list(Team.objects.filter(Q(pk__in=wanted), workspace_id=caller.workspace_id))
    if len(found) != len(wanted):
        raise Invalid.at("/teams", "There is no such team.")
    return found
