"""What every message is: frozen, strict, without unknown fields, and exact about JSON values.

Reading:  `PauseBody.from_text(raw)` or, from a tree that `canonical.parse` made, `PauseBody.from_tree(tree)`.
Writing:  `message.to_text()`, canonical JSON of exactly the fields that were given.

Fields of type `Json` and `JsonObject` hold the tree as it is, `Number` included, and are never converted.
A field that was left out and one that was given as null differ: see `was_given`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Self, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from reviewhub_agents.canonical import BadJson, Fault, Number, Tree, dumps, parse, pointer

from .fields import RAW, Limits, duration_text, time_text
from .words import in_words

_CODES: Mapping[str, str] = {
    "missing": "missing",
    "extra_forbidden": "unknown_field",
    "too_large": "too_large",
}


class BadBody(BadJson):
    """The JSON is well-formed, but not what the contract allows; `errors` names each path."""

    @property
    def code(self) -> str:
        """Always ``invalid``: the codes of the single faults say more."""
        return "invalid"


class Wire(BaseModel):
    """The base of every message."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )
    raw_fields: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.raw_fields = frozenset(
            name
            for name, field in cls.model_fields.items()
            if RAW in field.metadata or any(_marked(part) for part in get_args(field.annotation))
        )

    @classmethod
    def from_tree(cls, tree: Tree, *, lenient: bool = False, limits: Limits | None = None) -> Self:
        """The message that `tree` says. Raises `BadBody` with the JSON pointer of each fault.

        `limits` bound texts and lists; None takes any size. `lenient` ignores unknown fields, for reading the
        answers of a server that is newer than its client.
        """
        try:
            return cls.model_validate(
                tree, by_alias=True, by_name=False, extra="ignore" if lenient else None, context=limits
            )
        except ValidationError as error:
            raise BadBody(_faults(error)) from error

    @classmethod
    def from_text(cls, raw: bytes | str, **limits: int) -> Self:
        """The message that raw JSON says; `limits` as in `canonical.parse`. Raises `BadJson`."""
        return cls.from_tree(parse(raw, **limits))

    def was_given(self, field: str) -> bool:
        """Whether `field` was given, even as null: ``{"value": null}`` answers null, ``{}`` nothing."""
        return field in self.model_fields_set

    def to_tree(self) -> dict[str, Any]:
        """The message as JSON values: the fields that were given, and only those."""
        return dict(self._given())

    def to_text(self) -> str:
        """The message as canonical JSON. Raises `BadJson` when a value in it cannot be written exactly."""
        return dumps(self.to_tree())

    def _given(self) -> Iterator[tuple[str, Any]]:
        for name, field in type(self).model_fields.items():
            if name in self.model_fields_set:
                value = getattr(self, name)
                yield field.alias or name, value if name in self.raw_fields else _plain(value)


def _marked(part: Any) -> bool:
    """Whether the type `part` is, or contains, one marked as a raw JSON value."""
    return RAW in getattr(part, "__metadata__", ()) or any(_marked(inner) for inner in get_args(part))


def _plain(value: Any) -> Any:
    """`value` of a field of ours as JSON; what is none of ours is left to `dumps`, which refuses it."""
    match value:
        case Wire():
            return value.to_tree()
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case StrEnum():
            return value.value
        case UUID():
            return str(value)
        case datetime():
            return time_text(value)
        case timedelta():
            return duration_text(value)
    return value


def _faults(error: ValidationError) -> list[Fault]:
    return [
        Fault(
            path=pointer(found["loc"]) + str(found.get("ctx", {}).get("inside", "")),
            code=_CODES.get(found["type"], "invalid"),
            message=_sentence(found),
        )
        for found in error.errors(include_url=False)
    ]


def _sentence(found: ErrorDetails) -> str:
    """The fault in words, and for numbers with what was given."""
    text, given = in_words(found["type"], found["msg"], found.get("ctx", {})), found["input"]
    return f"{text} ({given} was given)" if isinstance(given, Number) else text
