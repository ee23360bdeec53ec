"""The JSON Schema of a model's states as they are saved: what JSON lacks is a marked object there, and here.

pydantic's own schema says `string` for a Decimal and `array` for a set. A saved state has marked objects in their
places (docs/exact-values.md), so this one says which.
"""

from __future__ import annotations

from enum import Enum, Flag
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from reviewhub_agents.exact import MARK

_TEXT: dict[str, Any] = {"type": "string"}


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a model's states as `runtime.state.dump` writes them."""
    return model.model_json_schema(by_alias=False, mode="serialization", schema_generator=_Saved)


def _marked(kind: str, value: dict[str, Any] | None = None, **more: dict[str, Any]) -> JsonSchemaValue:
    """A marked object of this type; `more` are members that it may have."""
    needed = {MARK: {"const": kind}, "value": _TEXT if value is None else value}
    return {
        "type": "object",
        "properties": needed | more,
        "required": list(needed),
        "additionalProperties": False,
    }


class _Saved(GenerateJsonSchema):
    """pydantic's generator, with other words for what is marked. What it says of the rest is what is saved."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        return _marked("decimal")

    def uuid_schema(self, schema: core_schema.UuidSchema) -> JsonSchemaValue:
        return _marked("uuid")

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        return _marked("bytes")

    def date_schema(self, schema: core_schema.DateSchema) -> JsonSchemaValue:
        return _marked("date")

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        return _marked("time", zone=_TEXT, name=_TEXT, fold={"const": 1})

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return _marked("datetime", zone=_TEXT, name=_TEXT, fold={"const": 1})

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        return _marked("duration")

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        return _marked("complex", {"type": "array", "minItems": 2, "maxItems": 2})

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        return _marked("tuple", super().tuple_schema(schema))

    def named_tuple_schema(self, schema: core_schema.NamedTupleSchema) -> JsonSchemaValue:
        return _marked("tuple", super().named_tuple_schema(schema))

    def deque_schema(self, schema: core_schema.DequeSchema) -> JsonSchemaValue:
        return _marked("deque", super().deque_schema(schema), maxlen={"type": "integer"})

    def set_schema(self, schema: core_schema.SetSchema) -> JsonSchemaValue:
        return _marked("set", super().set_schema(schema))

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonSchemaValue:
        return _marked("frozenset", super().frozenset_schema(schema))

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        if self._config.use_enum_values:
            return super().enum_schema(schema)
        return _enum(schema["cls"])

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        members = [one for one in schema["expected"] if isinstance(one, Enum)]
        others = [one for one in schema["expected"] if not isinstance(one, Enum)]
        forms = [_enum(type(one), [one.name]) for one in members]
        if others:
            forms.append(super().literal_schema(core_schema.literal_schema(others)))
        return forms[0] if len(forms) == 1 else {"anyOf": forms}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        keys = schema.get("keys_schema")
        if keys is None or keys["type"] == "str":
            return super().dict_schema(schema)
        values = schema.get("values_schema")
        pair = [self.generate_inner(keys), self.generate_inner(values) if values else {}]
        listed = {"type": "array", "prefixItems": pair, "minItems": 2, "maxItems": 2}
        # A mapping whose keys are all text is an object, whatever they might have been.
        plain = {"type": "object", "additionalProperties": pair[1]}
        return {"anyOf": [_marked("dict", {"type": "array", "items": listed}), plain]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Defaults are left out: pydantic writes them in its own form."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _enum(kind: type[Enum], names: list[str] | None = None) -> JsonSchemaValue:
    """An enum is saved by the name of its member, a union of flags without a name by several."""
    some = names or [member.name for member in kind if member.name]
    known: dict[str, Any] = {MARK: {"const": "enum"}, "type": _TEXT, "name": {"enum": some}}
    needed = list(known)
    if issubclass(kind, Flag):
        known["names"] = {"type": "array", "items": {"enum": some}}
        needed.remove("name")
    return {"type": "object", "properties": known, "required": needed, "additionalProperties": False}
