"""Enum members by name, and objects field by field. Made again without their constructors, except pydantic's check."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum, Flag
from functools import reduce
from operator import or_
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

from reviewhub_agents.canonical import Writable

from .known import Types, is_named_tuple, is_object, qualified
from .scalars import Members, only, text_of
from .values import marked, refuse

_BUILT_IN = (BaseException, bytes, bytearray, dict, float, frozenset, int, list, set, str, tuple)


def write_enum(value: Enum, types: Types) -> Members:
    """A member by its name; flags that have none as the names they consist of."""
    kind = type(value)
    type_name = types.name_of(kind) or qualified(kind)
    if value.name is not None and kind.__members__.get(value.name) is value:
        return marked("enum", type=type_name, name=value.name)
    names = [name for name, one in kind.__members__.items() if _contains(value, one)]
    if not isinstance(value, Flag) or _joined(kind, names) != value:
        refuse(f"{value!r:.100} of type {type_name} is no member and no union of members.")
    return marked("enum", type=type_name, names=names)


def _contains(value: Enum, one: Enum) -> bool:
    return isinstance(value, Flag) and isinstance(one, Flag) and one in value


def read_enum(kind: type[Any], members: Members) -> Enum:
    """The member of that name; its value is what the reader's code says."""
    if not issubclass(kind, Enum):
        refuse(f"{qualified(kind)} is no enum.")
    only(members, "type", "name", "names")
    names = members.get("names")
    if names is None:
        name = text_of(members, "name")
        found: Enum | None = kind.__members__.get(name)
        return found if found is not None else refuse(f"{qualified(kind)} has no member {name!a:.60}.")
    is_flag = issubclass(kind, Flag) and isinstance(names, list) and "name" not in members
    if not is_flag or not all(isinstance(name, str) and name in kind.__members__ for name in names):
        refuse(f"{qualified(kind)} has no such members.")
    return _joined(kind, names)


def _joined(kind: type[Enum], names: list[str]) -> Enum:
    members = [kind.__members__[name] for name in names]
    return reduce(or_, members) if members else kind(0)


def fields_of(value: Any, types: Types) -> tuple[str, dict[str, Any], dict[str, Writable]]:
    """The name of an object's type, its fields, and what else is to be said of it."""
    kind = type(value)
    name = types.name_of(kind)
    if name is None:
        hint = "; give its type" if is_object(kind) else ""
        refuse(f"A value of type {qualified(kind)} cannot be kept{hint}.")
    if is_named_tuple(kind):
        return name, dict(zip(kind._fields, value, strict=True)), {}
    if isinstance(value, BaseModel):
        fields, more = _model_fields(value)
        # What its own validation would not give back is refused now: whoever reads it could only refuse it later.
        _read_model(kind, fields, more.get("unset", []))
        return name, fields, more
    return name, _dataclass_fields(value), {}


def _dataclass_fields(value: Any) -> dict[str, Any]:
    kind = type(value)
    if issubclass(kind, _BUILT_IN):
        refuse(f"The dataclass {qualified(kind)} is also a built-in type; that part cannot be kept.")
    names = [field.name for field in dataclasses.fields(kind)]
    beside = set(getattr(value, "__dict__", ())) - set(names)
    missing = [name for name in names if not hasattr(value, name)]
    if beside or missing:
        refuse(f"{qualified(kind)} has other attributes than its fields: {', '.join([*beside, *missing])}.")
    return {name: getattr(value, name) for name in names}


def _model_fields(value: BaseModel) -> tuple[dict[str, Any], dict[str, Writable]]:
    for name, private in type(value).__private_attributes__.items():
        now = (value.__pydantic_private__ or {}).get(name, PydanticUndefined)
        if now is not PydanticUndefined and now != private.get_default():
            refuse(f"The private attribute {name} cannot be kept.")
    fields = {name: value.__dict__[name] for name in type(value).model_fields if name in value.__dict__}
    unset = sorted(set(fields) - value.model_fields_set)
    return fields | (value.__pydantic_extra__ or {}), {"unset": list(unset)} if unset else {}


def read_object(kind: type[Any], members: Members) -> Any:
    """An object of `kind` with exactly these fields."""
    only(members, "type", "value", "unset")
    fields = members.get("value")
    if type(fields) is not dict:
        refuse("Should be an object of fields.")
    if issubclass(kind, BaseModel):
        return _read_model(kind, fields, members.get("unset", []))
    if "unset" in members or not is_object(kind):
        refuse(f"{qualified(kind)} is not kept in this way.")
    if is_named_tuple(kind):
        _same_names(kind, kind._fields, fields)
        return tuple.__new__(kind, [fields[name] for name in kind._fields])
    _same_names(kind, [field.name for field in dataclasses.fields(kind)], fields)
    made = object.__new__(kind)
    for name, value in fields.items():
        # Past __init__ and __post_init__: they would do again what they did to these very values.
        object.__setattr__(made, name, value)
    return made


def _same_names(kind: type, names: Any, fields: Mapping[str, Any]) -> None:
    if set(names) != set(fields):
        differing = ", ".join(sorted(set(names) ^ set(fields)))
        refuse(f"{qualified(kind)} has other fields by now: {differing:.200}.")


def _read_model(kind: type[BaseModel], fields: dict[str, Any], unset: Any) -> BaseModel:
    """A model that its own validation accepts and leaves as it is."""
    from .packing import same  # the one comparison there is; it stands on this module

    if type(unset) is not list or not all(type(name) is str and name in fields for name in unset):
        refuse("The unset fields must be some of the fields.")
    try:
        made = kind.model_validate(dict(fields), by_name=True, by_alias=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        refuse(f"{qualified(kind)} does not accept {place}: {first['msg']}.")
    after, _ = _model_fields(made)
    for name, value in fields.items():
        if name not in after or not same(after[name], value):
            refuse(f"{qualified(kind)} changes {name!a:.60} when it is read.")
    made.__pydantic_fields_set__.difference_update(unset)
    return made
