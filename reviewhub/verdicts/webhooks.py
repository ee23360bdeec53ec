"""The webhooks that the settings name as verifiers, and which calls each of them judges. Pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from reviewhub.verdicts.address import address_fault


class Webhook(BaseModel):
    """One of them. With `gate` a proposal that policy would let run waits until this has passed it.

    `private`: its address may be one of the house.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    of: Annotated[str, Field(min_length=1, max_length=200)]
    url: Annotated[str, Field(max_length=2000)]
    judges: Literal["proposal", "result"] = "proposal"
    seconds: Annotated[int, Field(ge=1, le=60)] = 10
    gate: bool = False
    private: bool = False
    workspace: str = ""

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if fault := address_fault(self.url):
            raise ValueError(f"the address of {self.name} {fault}")
        if self.gate and self.judges != "proposal":
            raise ValueError(f"{self.name} judges results, and cannot hold what has happened")
        return self


def read(text: str) -> tuple[Webhook, ...]:
    """The webhooks in a setting, a JSON list. Raises ValueError."""
    found = TypeAdapter(tuple[Webhook, ...]).validate_json(text) if text.strip() else ()
    if len({one.name for one in found}) < len(found):
        raise ValueError("two verifiers have one name")
    return found


def about(webhooks: Iterable[Webhook], *, tool: str, judges: str, workspace: str) -> list[Webhook]:
    """Those that judge this: by the name of the tool or act, and the workspace, if they say one."""
    return [
        one
        for one in webhooks
        if one.judges == judges and one.workspace in ("", workspace) and fnmatch.fnmatchcase(tool, one.of)
    ]
