"""Agent state to text and back, exactly: what JSON lacks is packed (`reviewhub_agents.exact`).

A field's annotation says what its value is, so nested models stay plain objects and any other type that pydantic
writes as JSON (a path, an address) stays its text. All else is packed with its type. That a state comes back as it was
is not hoped for but tried, each time it is written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic_core import PydanticSerializationError

from reviewhub_agents import canonical, exact
from reviewhub_agents.exact.packing import Packer
from reviewhub_agents.exact.values import Refused

from .errors import GraphError, StateError
from .same import difference
from .texts import Texts

S = TypeVar("S", bound=BaseModel)
GivenTypes: TypeAlias = Iterable[type] | Mapping[str, type]

_MAY_BE_PACKED = re.compile(r'\$rh[0-9]*"\s*:')


def check_storable(model: type[BaseModel]) -> None:
    """Refuses a state that JSON cannot hold: open files, connections, functions.

    Raises:
        GraphError: names the field.
    """
    for name, field in model.model_fields.items():
        alone: dict[str, Any] = {name: (field.annotation, ...)}
        probe = create_model(f"{model.__name__}.{name}", __config__=model.model_config, **alone)
        try:
            probe.model_json_schema(mode="serialization")
        except PydanticInvalidForJsonSchema as error:
            raise GraphError(f"state {model.__name__}.{name} cannot be stored: {error.message}") from error


class StateText(str):
    """The canonical text of a state, which knows those of its fields and what was read of it to try it.

    `fields` is empty where the text is none of an object. `seconds` is how long it took to make and to try it.
    `take` gives the state that was read, once: it is nobody else's.
    """

    fields: Mapping[str, str]
    seconds: float
    _read: BaseModel | None

    def __new__(
        cls, text: str, *, fields: Mapping[str, str], seconds: float, read: BaseModel | None
    ) -> StateText:
        """As given."""
        made = super().__new__(cls, text)
        made.fields, made.seconds, made._read = fields, seconds, read
        return made

    def take(self) -> BaseModel | None:
        """The state, a new object, for the first who asks."""
        read, self._read = self._read, None
        return read


def dump(state: BaseModel, *, types: GivenTypes = (), texts: Texts | None = None) -> StateText:
    """The canonical text of a state.

    Args:
        types: enums that its annotations do not name, as `load` is given them.
        texts: those of the state before it, if there is one.

    Raises:
        StateError: it holds what would not come back as it is; names the path.
    """
    begun = time.monotonic()
    try:
        packer = Packer(exact.Types(types), fallback=_by_pydantic)
        tree = packer.pack(state.model_dump(warnings=False))
        fields = (texts or Texts()).of(tree) if isinstance(tree, dict) else {}
        text = canonical.joined(fields) if isinstance(tree, dict) else canonical.dumps(tree)
    except Refused as refused:
        # Types that pydantic writes as JSON only (`when_used="json"`) are its own affair, if they come back.
        plain = _as_json(state)
        if plain is None or _read_again(state, plain, types)[1] is not None:
            raise StateError(f"the state cannot be saved: {refused.named()}") from refused
        return StateText(plain, fields={}, seconds=time.monotonic() - begun, read=None)
    except (canonical.BadJson, ValueError) as error:
        raise StateError(f"the state cannot be saved: {error}") from error
    read, changed = _read_again(state, text, types)
    if changed is not None:
        raise StateError(f"the state cannot be saved: {changed}")
    return StateText(text, fields=fields, seconds=time.monotonic() - begun, read=read)


def _read_again(state: BaseModel, text: str, types: GivenTypes) -> tuple[BaseModel | None, str | None]:
    """What is loaded from `text`, and what of it would be another value; None when all is as it was."""
    try:
        read = load(type(state), text, types=types)
    except StateError as error:
        return None, f"it could not be read again: {error}"
    return read, difference(state, read)


def _as_json(state: BaseModel) -> str | None:
    try:
        return canonical.dumps(state.model_dump(mode="json", warnings=False))
    except (canonical.BadJson, ValueError):
        return None


def load(model: type[S], text: str, *, types: GivenTypes = ()) -> S:
    """A state from its text, a new object each time. States saved before there were exact values load as ever.

    Raises:
        StateError: this version of the agent cannot read it.
    """
    try:
        if _MAY_BE_PACKED.search(text) is None:
            return model.model_validate_json(text, by_alias=True, by_name=True)
        known = exact.Types(known_types(model, types))
        value = exact.unpack(canonical.reread(text), types=known, numbers=canonical.plain)
        return model.model_validate(value, by_alias=True, by_name=True)
    except (ValidationError, canonical.BadJson) as error:
        raise StateError(f"this version of the agent cannot read the state: {misfits(error)}") from error


def misfits(error: ValidationError | canonical.BadJson) -> str:
    """What is wrong with a state, in words: each place and what is asked for there, without what was given."""
    if isinstance(error, canonical.BadJson):
        return str(error)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'/'.join(map(str, one['loc'])) or 'all of it'}: {one['msg']}" for one in found)


def _by_pydantic(value: Any) -> Any:
    """What pydantic writes for a type of its own or of a library; the annotation makes the value of it again."""
    found: Any = type(value)
    try:
        return _adapter(found).dump_python(value, mode="json")
    except (PydanticUserError, PydanticSerializationError, ValueError, TypeError) as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise Refused(f"A value of type {kind} cannot be kept.") from error


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def known_types(model: type[BaseModel], types: GivenTypes) -> dict[str, type]:
    """The types that a state may hold, by the names under which they are saved."""
    given = dict(types) if isinstance(types, Mapping) else {exact.qualified(kind): kind for kind in types}
    return {exact.qualified(kind): kind for kind in enums_of(model)} | given


@lru_cache(maxsize=256)
def enums_of(model: type[BaseModel]) -> frozenset[type[Enum]]:
    """The enums that the annotations of a model and of the models in it name."""
    found: set[type[Enum]] = set()
    seen: set[Any] = set()
    todo: list[Any] = [model]
    while todo:
        kind = todo.pop()
        if not _once(kind, seen):
            continue
        todo.extend(get_args(kind))
        if not isinstance(kind, type):
            todo.append(getattr(kind, "__value__", None))  # of a `type` alias
        elif issubclass(kind, Enum):
            found.add(kind)
        elif issubclass(kind, BaseModel):
            todo.extend(field.annotation for field in kind.model_fields.values())
        else:
            todo.extend(_hints(kind))
    return frozenset(found)


def _hints(kind: type) -> Iterable[Any]:
    """The annotations of a dataclass, a named tuple or a TypedDict."""
    try:
        return get_type_hints(kind, include_extras=True).values() if hasattr(kind, "__annotations__") else ()
    except (NameError, TypeError):
        return ()  # names of nowhere; pydantic has its own word on them


def _once(kind: Any, seen: set[Any]) -> bool:
    """Whether `kind` is met for the first time; what cannot be remembered is no type."""
    try:
        new = kind is not None and kind not in seen
        seen.add(kind)
    except TypeError:
        return False
    return new
