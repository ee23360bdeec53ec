"""What every API view does: read the body exactly, find out who asks, answer in the words of `wire`."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, NoReturn, TypeVar

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView
from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import AgentKey
from reviewhub.accounts.permissions import Action, AgentCaller, Caller, MemberCaller, Target, require
from reviewhub.api.authentication import (
    AgentKeyAuthentication,
    KeyThrottle,
    PersonAuthentication,
    caller_in,
    caller_of,
    signed_in,
)
from reviewhub.api.authentication import actor_of as actor_of
from reviewhub.checkpoints.addressed import run_of
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import for_key
from reviewhub.core.errors import Forbidden, Invalid, NotFound
from reviewhub.core.idempotency import check_key
from reviewhub.core.limits import limits, parse_sent
from reviewhub.core.rows import one_or_none
from reviewhub.core.text import check_text
from reviewhub.reviews.targets import checkpoint_for, run_target
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import branch_for_key, run_for_key

Message = TypeVar("Message", bound=wire.Wire)
WAIT_HEADER = "ReviewHub-Wait"
EVERYWHERE: Final = frozenset({"wait", "workspace"})
"""Parameters that are no endpoint's own: the gate before the views and the door itself read them."""


@dataclass(frozen=True)
class Body:
    """A request's body as it was read."""

    tree: canonical.Tree

    @cached_property
    def digest(self) -> str:
        """Of the whole value, made for those who ask."""
        return canonical.body_digest(self.tree)

    def read(self, model: type[Message]) -> Message:
        """The body as a message of the contract. Raises BadJson with the path of each fault."""
        return model.from_tree(self.tree, limits=limits())


class Door(APIView):
    """What both kinds of endpoint have in common: a parameter of the address that nobody knows is refused."""

    takes: ClassVar[frozenset[str]] = frozenset()
    """The parameters of this endpoint."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """After the door: a filter with a slip of the pen in its name would answer with everything."""
        super().initial(request, *args, **kwargs)
        for name, values in request.query_params.lists():
            for value in values:
                check_text(str(value), path=f"/query/{name[:100]}")
            if name not in self.takes | EVERYWHERE:
                known = ", ".join(sorted(self.takes | EVERYWHERE))
                raise Invalid.at(
                    f"/query/{name[:100]}",
                    f"there is no such parameter here; there are: {known}",
                    "unknown_field",
                )


class AgentView(Door):
    """An endpoint for agents: a key, and nothing else, opens it."""

    ONLY: Final = "This is for agents, with a key. A person's session does not open it."
    authentication_classes = (AgentKeyAuthentication,)
    throttle_classes = (KeyThrottle,)

    def permission_denied(
        self, request: Request, message: str | None = None, code: str | None = None
    ) -> NoReturn:
        """401 for who is nobody; 403 for a person, whose session is good for other endpoints."""
        if signed_in(request) is not None:
            raise Forbidden(self.ONLY)
        super().permission_denied(request, message, code)

    def caller(self, request: Request) -> AgentCaller:
        """The agent that asks."""
        caller = caller_of(request)
        if not isinstance(caller, AgentCaller):
            raise Forbidden
        return caller

    def key(self, request: Request, action: Action) -> AgentKey:
        """The key that asks, with its agent, if that may do `action` to what is its own."""
        return _key_for(self.caller(request), action)

    def run(self, request: Request, run_id: uuid.UUID, action: Action) -> Run:
        """One of the runs that the key reaches; NotFound for any other."""
        return run_for_key(self.key(request, action), run_id)

    def branch(self, request: Request, branch_id: uuid.UUID, action: Action) -> Branch:
        """A branch of a run that the key reaches; NotFound for any other."""
        return branch_for_key(self.key(request, action), branch_id)


class PersonView(Door):
    """An endpoint for people: a session with CSRF protection, and nothing else, opens it."""

    ONLY: Final = "This is for people, with their session. An agent's key does not open it."
    authentication_classes = (PersonAuthentication,)

    def permission_denied(
        self, request: Request, message: str | None = None, code: str | None = None
    ) -> NoReturn:
        """401 for who is nobody; 403 for an agent, whose key is good for other endpoints."""
        if AgentKeyAuthentication().authenticate(request) is not None:
            raise Forbidden(self.ONLY)
        super().permission_denied(request, message, code)


class EitherView(Door):
    """An endpoint that an agent's key and a person's session open; each reaches what is its own."""

    authentication_classes = (AgentKeyAuthentication, PersonAuthentication)
    throttle_classes = (KeyThrottle,)

    def run(self, request: Request, run_id: uuid.UUID, action: Action) -> tuple[Run, Caller]:
        """The run, and who acts on it. Raises NotFound, Forbidden."""
        if isinstance(request.auth, AgentCaller):
            return run_for_key(_key_for(request.auth, action), run_id), request.auth
        return run_of_person(request, run_id, action)

    def checkpoint(
        self, request: Request, checkpoint_id: uuid.UUID, action: Action
    ) -> tuple[Checkpoint, Caller]:
        """The checkpoint, and who acts on it. Raises NotFound, Forbidden, CheckpointRemoved."""
        if isinstance(request.auth, AgentCaller):
            return for_key(_key_for(request.auth, action), checkpoint_id), request.auth
        return checkpoint_of(request, checkpoint_id, action)


def check_reason(caller: Caller, reason: str) -> None:
    """Returns when a person says why: it goes on the record. An agent's own reason may be left out. Raises Invalid."""
    if isinstance(caller, MemberCaller) and not reason.strip():
        raise Invalid.at("/reason", "say why; it goes on the record", "missing")


def run_of_person(request: Request, run_id: uuid.UUID, action: Action) -> tuple[Run, Caller]:
    """The run that a person names, and the membership that they act by. Raises NotFound, Forbidden."""
    row = one_or_none(Run.objects.select_related("agent", "workspace").filter(pk=run_id))
    if row is None:
        raise NotFound
    caller = caller_in(request, row.workspace_id)
    require(caller, action, run_target(row))
    return row, caller


def checkpoint_of(request: Request, checkpoint_id: uuid.UUID, action: Action) -> tuple[Checkpoint, Caller]:
    """The checkpoint that a person names, and the membership that they act by.

    Raises:
        NotFound: there never was one, or they may not know of its run.
        CheckpointRemoved: there was one.
        Forbidden: they may not do this to it.
    """
    run = run_of(checkpoint_id, runs=Run.objects.all())
    try:
        caller = caller_in(request, run.workspace_id)
    except NotFound:
        raise NotFound("There is no such checkpoint.") from None
    found, target = checkpoint_for(caller, checkpoint_id)
    require(caller, action, target)
    return found, caller


def _key_for(caller: AgentCaller, action: Action) -> AgentKey:
    require(caller, action, Target(workspace_id=caller.workspace_id, agent_id=caller.agent.pk))
    return caller.key


def read_tree(request: Request) -> Body:
    """The body, parsed exactly. An empty body counts as an empty object.

    Raises:
        BadJson: it is no JSON, or not within the limits; with the path.
    """
    raw: bytes = request._request.body
    return Body(parse_sent(raw or b"{}"))


def read_nothing(request: Request) -> None:
    """For what takes no body. Raises Invalid when there is one that says something, BadJson when it is no JSON."""
    tree = read_tree(request).tree
    if tree == {}:
        return
    path = canonical.pointer([min(tree)]) if isinstance(tree, dict) else ""
    raise Invalid.at(path, "this takes no body")


def read(request: Request, model: type[Message]) -> Message:
    """The body as a message of the contract. Raises BadJson with the path of each fault."""
    return read_tree(request).read(model)


def key_of(request: Request) -> str:
    """The Idempotency-Key header. Raises Invalid when there is none, or none that can be kept."""
    return check_key(request.headers.get("Idempotency-Key", ""))


def answer(message: wire.Wire, *, status: int = 200, wait_for: str = "") -> HttpResponse:
    """A message as exact JSON. `wait_for` names the topics whose change makes asking again worthwhile."""
    response = _json(message.to_text().encode(), status=status)
    if wait_for:
        response[WAIT_HEADER] = wait_for
    return response


def answer_with(message: wire.Wire, name: str, raw: bytes) -> HttpResponse:
    """The message and one field more, whose canonical bytes are at hand: nothing of them is parsed or written anew."""
    tree = message.to_tree()
    before = canonical.dumps({key: value for key, value in tree.items() if key < name})[1:-1].encode()
    after = canonical.dumps({key: value for key, value in tree.items() if key > name})[1:-1].encode()
    field = canonical.dumps(name).encode() + b":" + raw
    return _json(b"{" + b",".join(filter(None, (before, field, after))) + b"}", status=200)


def _json(content: bytes, *, status: int) -> HttpResponse:
    response = HttpResponse(content, status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response
