"""Checkpoints: immutable commits of an agent's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from reviewhub_agents.canonical import BadJson, Fault, pointer
from reviewhub_agents.exact import Types, pack, unpack
from reviewhub_agents.exact.values import escaped

from .base import Wire
from .budgets import FieldWarnings
from .enums import ChangeOp, ChangeOpField, CheckpointKind, CheckpointKindField, PlanChoice, PlanChoiceField
from .fields import (
    MAX_ITEMS,
    Count,
    Digest,
    Epoch,
    Id,
    Json,
    JsonObject,
    Name,
    Positive,
    Said,
    Text,
    Time,
    Title,
)
from .problems import FaultOut

_HINTS = frozenset({"changed", "append", "unchanged"})
_VALUES = frozenset({"state", "changed", "append"})
_CONTENT = _HINTS | {"state", "parent", "parent_hash", "state_hash", "state_schema", "node", "step", "plan"}


def _packed(name: str, values: Any, types: Types) -> Any:
    packed = pack(values, types=types)
    if name != "state" and set(packed) != {escaped(key) for key in values if isinstance(key, str)}:
        # In a state such a mapping is a value of its own; here each member is a field.
        raise ValueError(f"{name} is a mapping of names of fields.")
    return packed


def _without_decimals(name: str, value: Any) -> None:
    todo: list[tuple[tuple[str | int, ...], Any]] = [((name,), value)]
    while todo:
        keys, found = todo.pop()
        if type(found) is Decimal:
            message = "A Decimal would come back as another number; make the message by `of`, which keeps it."
            raise BadJson([Fault(path=pointer(keys), code="invalid", message=message)])
        if type(found) is dict or type(found) is list:
            inside = found.items() if type(found) is dict else enumerate(found)
            todo.extend(((*keys, key), item) for key, item in inside if type(item) in (dict, list, Decimal))


class PlanRef(Wire):
    """Where in its plan the agent was: a version that it has sent, and in it a step.

    `step` counts the steps of the version in reading order, sub-steps too, from 1; 0 is before the first.
    """

    version: Positive
    step: Count


class StateSchemaRef(Wire):
    """Which registered schema a state was written under."""

    name: Name
    version: Positive


class StateSchemaNamed(StateSchemaRef):
    """What the writer of a state says it is, and what is to become of one that does not fit.

    `strict` refuses it, `warn` saves it and says so. An admin may have set more for the agent, which then holds.
    """

    validation: Literal["strict", "warn"] | None = None


class StateSchemaIn(Wire):
    """`PUT /states/{name}/{version}`: the JSON Schema of the states that an agent saves under this name and version."""

    json_schema: JsonObject = Field(alias="schema", description="JSON Schema of the states as they are sent.")


class StateSchemaOut(StateSchemaRef):
    """A schema as registered."""

    json_schema: JsonObject = Field(alias="schema", description="JSON Schema of the states as they are sent.")
    fingerprint: Digest
    registered_at: Time


class CheckpointIn(Wire):
    """A state to save: whole (`state`), or as what changed since the parent, or the id of one saved before.

    With hints every field of the parent is either in `changed`, in `append` (items added to its end) or in
    `unchanged`; `parent_hash` says which state they are relative to. `state_hash` is the hash of the state that the
    sender means (`docs/state-hash.md`): what makes another one is refused, so a wrong `unchanged` cannot be stored.
    `state_schema` says which registered schema the state is by.
    """

    id: Id | None = None
    parent: Id | None = None
    node: Annotated[str, Field(max_length=200)] = ""
    step: Count = 0
    plan: PlanRef | None = None
    state: JsonObject | None = None
    changed: JsonObject | None = None
    append: dict[str, list[Json]] | None = None
    unchanged: list[str] | None = None
    parent_hash: Digest | None = None
    state_hash: Digest | None = None
    state_schema: StateSchemaNamed | None = None

    @classmethod
    def of(cls, *, types: Types | Iterable[type] | Mapping[str, type] = (), **fields: Any) -> Self:
        """A checkpoint of Python state: the values in `state`, `changed` and `append` are packed, so that
        `CheckpointOut.value` gives them back as they are. The other fields are those of the message.

        Raises `exact.NotExact` for what cannot be kept.
        """
        for name in _VALUES & fields.keys():
            if fields[name] is not None:
                fields[name] = _packed(name, fields[name], Types(types))
        if fields.get("unchanged") is not None:
            fields["unchanged"] = [escaped(name) for name in fields["unchanged"]]
        return cls(**fields)

    def to_tree(self) -> dict[str, Any]:
        """The message as JSON values. Raises `BadJson` for a Decimal in a state, which would come back as a number."""
        for name in sorted(_VALUES & self.model_fields_set):
            _without_decimals(name, getattr(self, name))
        return super().to_tree()

    @property
    def has_hints(self) -> bool:
        """Whether the state is given as changes to the parent's. Null is no hint: it must not empty the state."""
        return any(getattr(self, name) is not None for name in _HINTS)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = self.model_fields_set
        if self.id is not None:
            if given & _CONTENT:
                raise ValueError("A checkpoint saved before is named by its id alone.")
        elif (self.state is not None) == self.has_hints:
            raise ValueError("Give exactly one of: id, state, or the hints changed/append/unchanged.")
        elif self.has_hints and (self.parent_hash is None or self.parent is None):
            raise ValueError("Hints need parent and parent_hash: they say what changed since that state.")
        return self


class CheckpointRef(Wire):
    """Which checkpoint, the hash of its state, and what of it is not as its schema says."""

    id: Id
    hash: Digest
    misfits: list[FaultOut] = []


class CheckpointSave(CheckpointIn):
    """`POST /runs/{run}/checkpoints`."""

    branch: Name = "main"
    epoch: Epoch | None = None
    reason: Text = ""

    @model_validator(mode="after")
    def _not_by_id(self) -> Self:
        if self.id is not None:
            raise ValueError("This checkpoint is saved already.")
        return self


class CheckpointOut(Wire):
    """A checkpoint; `state` only when asked for (`?state=full`), `fields` with `?state=fields`.

    `kind` says how it came to be: saved by the agent, the first of a fork, or a person's rewrite.
    `misfits` is what of the state is not as `state_schema` says, by JSON pointers into it.
    """

    id: Id
    run: Id
    branch: Id
    branch_name: Name
    number: Count
    kind: CheckpointKindField = CheckpointKind.SAVE
    hash: Digest
    parent: Id | None = None
    node: str = ""
    step: Count = 0
    plan: PlanRef | None = None
    size: Annotated[Count, Field(description="Bytes of the state's canonical text.")] = 0
    reason: Text = ""
    author: Title = ""
    created_at: Time
    state_schema: StateSchemaRef | None = None
    misfits: list[FaultOut] = []
    state: JsonObject | None = None
    fields: dict[str, Digest] | None = None
    warnings: FieldWarnings = []

    def value(self, *, types: Types | Iterable[type] | Mapping[str, type] = ()) -> Any:
        """The state as Python values, as `CheckpointIn.of` was given them; None when it was not asked for."""
        return None if self.state is None else unpack(self.state, types=types)


class RemovedOut(Wire):
    """Checkpoints of a branch that one removal took: `count` of those from `first` to `last`."""

    branch: Name
    first: Count
    last: Count
    count: Count
    kind: Annotated[str, Field(description="`retention` or `erasure`.")]
    because: Text
    digest: Annotated[Digest, Field(description="Over the ids and hashes of all that went with it.")]
    removed_at: Time


class CheckpointList(Wire):
    """`GET /runs/{run}/checkpoints`, newest first; `next` is the cursor of the following page.

    `removed`, on the first page, tells of those that are there no more, the latest removal first.
    """

    items: list[CheckpointOut]
    removed: list[RemovedOut] = []
    next: str | None = None


class DifferenceItem(Wire):
    """A value that differs: `before` was there, `after` is; a side without a value is left out."""

    path: Text
    kind: Literal["added", "removed", "changed"]
    before: Json = None
    after: Json = None


class DifferenceOut(Wire):
    """`GET /checkpoints/{checkpoint}/difference/{other}`: what differs in the other one; `more` when there is more."""

    changes: list[DifferenceItem]
    more: bool = False


class BlameOut(Wire):
    """`GET /checkpoints/{checkpoint}/blame?path=`: the checkpoint that last changed the value; none when there never
    was a value.

    With `before` the answer is not known yet: `looked_at` of the `of` checkpoints on the way were looked at, and the
    same request with `?before=` goes on there.
    """

    path: Text
    checkpoint: CheckpointOut | None = None
    before: str | None = None
    looked_at: Count | None = None
    of: Count | None = None


class FindBody(Wire):
    """`POST /checkpoints/{checkpoint}/find`: which value, at which JSON pointer; `before` as the last answer said."""

    path: Text
    value: Json
    before: Title | None = None

    @model_validator(mode="after")
    def _has_a_value(self) -> Self:
        if not self.was_given("value"):
            raise ValueError("Which value? It may be any JSON, also null.")
        return self


class FindOut(Wire):
    """The first checkpoint with the value, and the first one after it without.

    With `before` that is what `looked_at` of the `of` checkpoints on the way say, the newest ones; the same request
    with `before` goes on there and knows of it.
    """

    introduced: CheckpointOut | None = None
    lost: CheckpointOut | None = None
    before: str | None = None
    looked_at: Count | None = None
    of: Count | None = None


class Change(Wire):
    """One step of an edit at a JSON pointer. What no change names keeps its bytes."""

    op: ChangeOpField
    path: Text
    value: Json = None

    @model_validator(mode="after")
    def _value_where_needed(self) -> Self:
        if (self.op is ChangeOp.REMOVE) == self.was_given("value"):
            raise ValueError("set and insert need a value; remove has none.")
        if self.path and not self.path.startswith("/"):
            raise ValueError('A JSON pointer is "" or starts with a slash.')
        return self


Changes = Annotated[list[Change], Field(max_length=MAX_ITEMS)]


class ForkBody(Wire):
    """`POST /checkpoints/{checkpoint}/fork`: go on from here on a new branch, perhaps with another state.

    The plan stays as it is (`keep`), or goes back too, to the version that the checkpoint names (`checkpoint`).
    """

    branch: Name | None = None
    changes: Changes = []
    reason: Text = ""
    plan: PlanChoiceField = PlanChoice.KEEP


class RewriteBody(Wire):
    """`POST /checkpoints/{checkpoint}/rewrite`: a person changes the state; the old branch is superseded.

    With `seen`, which `GET` of the same address gives, it is refused when what that told is no longer so.
    `plan` as for a fork.
    """

    changes: Changes = []
    reason: Said
    seen: Digest | None = None
    plan: PlanChoiceField = PlanChoice.KEEP


class RewritePreviewBody(Wire):
    """`POST /checkpoints/{checkpoint}/rewrite/preview`: the body of the rewrite, also without `reason`."""

    changes: Changes = []
    reason: Text = ""
    seen: Digest | None = None
    plan: PlanChoiceField = PlanChoice.KEEP


class StatePreview(Wire):
    """The state that a new branch would begin with: what differs in it from the checkpoint's, its hash, its bytes.

    People get its secrets masked, an agent its own state as it is.
    """

    changes: list[DifferenceItem]
    more: bool = False
    hash: Digest
    bytes: Count
