"""The types of single fields: exact JSON values, and text that must say one thing in one way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from reviewhub_agents.canonical import MAX_DEPTH, BadJson, Number, parse, reread

RAW: Final = "raw JSON value"
"""Marks a field whose value goes through as it is."""
MAX_LABELS: Final = 50
MAX_ITEMS: Final = 100
"""Evidence, checks and other lists of claims of one tool call."""
MAX_BULK: Final = 200
MAX_DURATION: Final = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a server takes in one message; an installation may set others. Sizes in bytes of UTF-8.

    Only the reader who gives them to `from_tree` enforces them: a client leaves it to the server, which names its own.
    """

    text_bytes: int = 64_000
    arguments_bytes: int = 1_000_000
    arguments_values: int = 10_000
    tool_calls: int = 20
    depth: int = MAX_DEPTH


T = TypeVar("T")
Lax = Field(strict=False)
"""For enums: exactly one of their texts, nothing converted (`True`, 1 and "Approve " are refused)."""


def _integer(value: Any) -> Any:
    return value.to_python() if isinstance(value, Number) and value.is_integer else value


def _uuid(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value):
        return UUID(value)
    if isinstance(value, UUID):
        return value
    raise ValueError("Should be an id like 0190a6b2-6f1c-7c3e-9d2a-3b1f0c5d7e42.")


_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def _time(value: Any) -> Any:
    sentence = "Should be a time with its offset, like 2026-03-29T01:30:00Z."
    if isinstance(value, str) and _RFC3339.fullmatch(value):
        try:
            value = datetime.fromisoformat(value.upper())
        except ValueError as error:
            raise ValueError(sentence) from error
    if isinstance(value, datetime) and value.tzinfo is not None:
        try:
            return value.astimezone(UTC)
        except OverflowError as error:
            raise ValueError(f"{sentence} In UTC this one is before the year 1 or after 9999.") from error
    raise ValueError(sentence)


def time_text(value: datetime) -> str:
    """RFC 3339 in UTC with a Z; fractions of a second only when there are some."""
    return value.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


_DURATION = re.compile(
    r"P(?!$)(?:([0-9]{1,6})W|(?:([0-9]{1,6})D)?(?:T(?=[0-9])(?:([0-9]{1,6})H)?(?:([0-9]{1,6})M)?"
    r"(?:([0-9]{1,9}(?:\.[0-9]{1,6})?)S)?)?)"
)


def _duration(value: Any) -> Any:
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        weeks, days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        value = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    if not isinstance(value, timedelta):
        raise ValueError(
            "Should be an ISO 8601 duration of weeks, days, hours, minutes, seconds, like PT15M."
        )
    if not timedelta(0) < value <= MAX_DURATION:
        raise ValueError(f"Should be longer than nothing and at most {MAX_DURATION.days} days.")
    return value


def duration_text(value: timedelta) -> str:
    """ISO 8601, in days and seconds as they are stored: PT900S, P2D, P1DT0.5S."""
    seconds = (
        f"{value.seconds}.{value.microseconds:06}".rstrip("0") if value.microseconds else f"{value.seconds}"
    )
    days = f"{value.days}D" if value.days else ""
    return f"P{days}T{seconds}S" if seconds != "0" or not days else f"P{days}"


def _bounded(value: str, info: ValidationInfo) -> str:
    size = len(value.encode("utf-8", "surrogatepass"))
    if isinstance(info.context, Limits) and size > info.context.text_bytes:
        raise PydanticCustomError(
            "too_large",
            "The text has {size} bytes; the limit is {limit}.",
            {"size": size, "limit": info.context.text_bytes},
        )
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("Should say something; only white space was given.")
    return value


def _few_calls(value: Any, info: ValidationInfo) -> Any:
    if isinstance(info.context, Limits) and isinstance(value, list) and len(value) > info.context.tool_calls:
        raise PydanticCustomError(
            "too_large",
            "There are {count} tool calls; the limit is {limit}.",
            {"count": len(value), "limit": info.context.tool_calls},
        )
    return value


FewCalls = BeforeValidator(_few_calls)
"""For a list of tool calls: no more than the limits allow."""


def _json_text(value: str, info: ValidationInfo) -> str:
    """Check that `value` is the exact JSON text of an object, naming the path inside it when it is not."""
    limits = info.context
    try:
        if isinstance(limits, Limits):
            tree = parse(
                value,
                max_bytes=limits.arguments_bytes,
                max_depth=limits.depth,
                max_values=limits.arguments_values,
            )
        else:
            tree = reread(value)
    except BadJson as error:
        first = error.errors[0]
        raise PydanticCustomError(
            "too_large" if first["code"] == "too_large" else "json_text",
            "{message}",
            {"message": first["message"], "inside": first["path"]},
        ) from error
    if not isinstance(tree, dict):
        raise ValueError("Should be the text of a JSON object.")
    return value


def _web_address(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]\S*", value):
        raise ValueError("Should be a web address that starts with http:// or https://.")
    return value


Json = Annotated[Any, RAW, WithJsonSchema({"description": "Any JSON value, kept exactly."})]
JsonObject = Annotated[dict[str, Any], RAW]
JsonObjectText = Annotated[str, AfterValidator(_json_text)]

Int = Annotated[int, BeforeValidator(_integer, json_schema_input_type=int)]
Count = Annotated[Int, Field(ge=0, le=2**31 - 1)]
Positive = Annotated[Int, Field(ge=1, le=2**31 - 1)]
Epoch = Annotated[Int, Field(ge=0, le=2**63 - 1)]

Id = Annotated[UUID, BeforeValidator(_uuid, json_schema_input_type=UUID)]
Time = Annotated[datetime, BeforeValidator(_time, json_schema_input_type=datetime)]
Duration = Annotated[timedelta, BeforeValidator(_duration, json_schema_input_type=timedelta)]

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
RecordKey = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Label = Annotated[str, StringConstraints(max_length=255)]
Title = Annotated[str, StringConstraints(max_length=400)]
Text = Annotated[str, AfterValidator(_bounded)]
Said = Annotated[Text, Field(min_length=1), AfterValidator(_not_blank)]
"""A text that somebody has to give: a reason of white space alone is none."""
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Labels = Annotated[
    dict[Annotated[str, StringConstraints(min_length=1, max_length=100)], Label], Field(max_length=MAX_LABELS)
]
WebAddress = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_web_address)]
