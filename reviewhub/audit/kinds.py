"""The register of audit kinds: every event has a kind, its kind has a payload model and a sentence.

An app adds its own in its `kinds.py` (found by `AuditConfig.ready`):

    @kind("review.decided", says="{actor} approved {tool}")
    class ReviewDecided(Payload):
        tool: str

A payload holds only what JSON can say without loss: text, whole numbers, booleans, None, ids, times, lists of
those. A field called `tool` names the tool that the event is about; the list of events can be filtered by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

_NAME = re.compile(r"[a-z][a-z_]*\.[a-z][a-z_]*")


class Payload(BaseModel):
    """What one event says beyond who, when and about what: no field more than declared, never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Kind:
    """One registered kind."""

    name: str
    model: type[BaseModel]
    says: str
    names: frozenset[str]  # that `says` has in braces


class UnknownKind(LookupError):
    """No such kind of event is registered."""


_kinds: dict[str, Kind] = {}
_Model = TypeVar("_Model", bound=BaseModel)


def kind(name: str, *, says: str) -> Callable[[type[_Model]], type[_Model]]:
    """Registers a payload model under `name` (`noun.verb`), with the sentence that people read.

    `says` may name `{actor}` and any field or property of the model, and nothing deeper.

    Raises:
        ValueError: the name is taken or badly formed, the model is not frozen or takes extra fields, or the
            sentence names something that is not there. It happens at start, not at the first event.
    """

    def register(model: type[_Model]) -> type[_Model]:
        if not _NAME.fullmatch(name):
            raise ValueError(f"audit kind {name!r} is not of the form noun.verb")
        if name in _kinds:
            raise ValueError(f"audit kind {name!r} is registered twice")
        config = model.model_config
        if not config.get("frozen") or config.get("extra") != "forbid":
            raise ValueError(
                f"{model.__name__} must be frozen and forbid extra fields; derive it from Payload"
            )
        names = _names(says)
        for wanted in names:
            if wanted != "actor" and wanted not in model.model_fields and not hasattr(model, wanted):
                raise ValueError(
                    f"the sentence of {name!r} names {wanted!r}, which {model.__name__} does not have"
                )
        _kinds[name] = Kind(name=name, model=model, says=says, names=names)
        return model

    return register


def find(name: str) -> Kind:
    """The kind called `name`, or UnknownKind."""
    try:
        return _kinds[name]
    except KeyError:
        raise UnknownKind(f"audit kind {name!r} is not registered") from None


def counted(count: int, noun: str) -> str:
    """`1 run`, `2 runs`: for the sentences of kinds."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def names() -> list[str]:
    """Every registered name, sorted."""
    return sorted(_kinds)


def sentence(kind: Kind, *, actor: str, data: BaseModel) -> str:
    """The kind's sentence with the actor's name and the payload's values put in, as they are."""
    return kind.says.format_map(
        {name: actor if name == "actor" else getattr(data, name) for name in kind.names}
    )


def _names(says: str) -> frozenset[str]:
    """The names in braces; anything but a plain name (an index, an attribute, a conversion) is refused."""
    found = set()
    for _, name, spec, conversion in Formatter().parse(says):
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            raise ValueError(f"the sentence {says!r} may hold plain names only, not {name!r}")
        found.add(name)
    return frozenset(found)


@kind("audit.erased", says="{actor} erased what {events_said} said: {because}")
class AuditErased(Payload):
    """Payloads were erased; the events and their leaves stay."""

    because: str
    event_ids: list[int]

    @property
    def events_said(self) -> str:
        """How many, as words."""
        return counted(len(self.event_ids), "event")


@kind("audit.key_rotated", says="{actor} made {short} the key that signs the record")
class KeyRotated(Payload):
    """`key` is the new public half, `before` that of the key it takes over from; `lost`: that one could not say so."""

    key: str
    before: str
    lost: bool

    @property
    def short(self) -> str:
        """How the key is called."""
        return self.key[:16]


@kind("audit.set_back", says="The record was set back from seal {remembered} to seal {number}")
class SetBack(Payload):
    """The sealer had made seals that are not in the database any more: a restored backup, or removed rows.

    `statement` is the SHA-256 of the statement of the last one that it remembers.
    """

    remembered: int
    statement: str
    sealed_at: str
    number: int


@kind("audit.exported", says="{actor} exported {which} of the sealed record{more}")
class AuditExported(Payload):
    """Whole seals, or the events that fit `filters`; then the numbers are 0. `states`: with those that they name."""

    first_seal: int
    last_seal: int
    filters: str
    states: bool = False

    @property
    def which(self) -> str:
        """What of it."""
        return (
            f"what fits “{self.filters}”"
            if self.filters
            else f"the seals {self.first_seal} to {self.last_seal}"
        )

    @property
    def more(self) -> str:
        """What else is in it, in words."""
        return ", with the states of checkpoints" if self.states else ""


@kind("audit.read", says="{actor} looked at {what} in the record ({door})")
class AuditRead(Payload):
    """Somebody reads the record; `door` is page or api. The same look within an hour is recorded once."""

    what: str
    door: str


@kind("audit.listed", says="{actor} exported {which} of the record as {form}")
class AuditListed(Payload):
    """Entries went out as a table or as JSON lines, which prove nothing by themselves."""

    form: str
    filters: str

    @property
    def which(self) -> str:
        """What of it."""
        return f"what fits “{self.filters}”" if self.filters else "everything"
