"""What one process has in hand while it runs one branch on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from .calls import Calls
from .children import Startable
from .heads import Head
from .loop import Loop
from .models import Model
from .replan import Replan
from .replay import Replay
from .resources import Opened
from .states import StateType
from .store import Store
from .texts import Texts
from .tools import Tool
from .verifiers import Verifier

S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Work(Generic[S]):
    """The parts of the engine that the context of a step needs."""

    agent: str
    states: StateType[S]
    tools: Mapping[str, Tool[Any]]
    model: Model | None
    store: Store
    head: Head
    replay: Replay
    calls: Calls
    resources: Opened
    loop: Loop
    replan: Replan | None = None
    verifiers: Sequence[Verifier] = ()
    children: Mapping[str, Startable] = field(default_factory=dict)
    texts: Texts = field(default_factory=Texts)
