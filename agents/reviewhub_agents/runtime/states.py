"""What an agent's states are in which version, and how its code reads those of older versions.

The state changes its form while runs wait for people. So each checkpoint says under which version it was written, and
the code that loads it brings it to its own: one function for each step from a version to the next, in order, then the
model validates the result. What is stored stays as it is; the next save is of the new version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical, exact, wire

from .errors import GraphError, StateError
from .messages import written_as
from .schema import schema_of
from .state import GivenTypes, StateText, dump, known_types, load
from .store import Declaration, WrittenAs

S = TypeVar("S", bound=BaseModel)
Upgrade: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class StateType(Generic[S]):
    """The states of an agent: a model, its version, and the functions that bring older states to it.

    Example:
        order = StateType("order", Order, version=3, upgrades={1: add_currency, 2: split_name})

        hub.register_state(*order.registration())
        hub.save_checkpoint(run, wire.CheckpointSave(node="ask", **order.fields(state)))
        state = order.read(hub.get_checkpoint(checkpoint))
    """

    def __init__(
        self,
        name: str,
        model: type[S],
        *,
        version: int | None = 1,
        upgrades: Mapping[int, Upgrade] | None = None,
        types: Iterable[type] | Mapping[str, type] = (),
    ) -> None:
        """Puts it together.

        Args:
            name: under which states are saved; for a graph its name.
            version: of the model, 1 or more; raise it when the model changes its form. None: states are saved without a
                schema, and the model has to read all of them by itself.
            upgrades: by the version they start from: `upgrades[1]` gets the values of a state of version 1, as
                Python values by name, and returns those of version 2.
            types: as for `Graph`.

        Raises:
            GraphError: the version is none, or a function starts from no older one.
        """
        self.name = name
        self.model = model
        self.version = version
        self.upgrades = dict(upgrades or {})
        self.types: GivenTypes = dict(types) if isinstance(types, Mapping) else tuple(types)
        if version is not None and version < 1:
            raise GraphError(f"state {name}: version {version}; the first one is 1")
        odd = sorted(start for start in self.upgrades if not 1 <= start < (version or 1))
        if odd:
            raise GraphError(
                f"state {name}: a function upgrades from version {odd[0]}, the code has {version}"
            )

    @property
    def written_as(self) -> WrittenAs | None:
        """What states that this code saves are saved as; None without a version."""
        return None if self.version is None else WrittenAs(name=self.name, version=self.version)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of states as they are saved, exact values as marked objects."""
        return schema_of(self.model)

    def declaration(self) -> Declaration | None:
        """What the hub is to be told; None without a version."""
        return self._declaration

    @cached_property
    def _declaration(self) -> Declaration | None:
        known = self.written_as
        return None if known is None else Declaration(written_as=known, schema=canonical.dumps(self.schema))

    def registration(self) -> tuple[str, int, wire.StateSchemaIn]:
        """What `Client.register_state` takes. Raises GraphError for a state without a version."""
        if self.version is None:
            raise GraphError(f"state {self.name} has no version")
        return self.name, self.version, wire.StateSchemaIn(json_schema=self.schema)

    def check(self, written_as: WrittenAs | None) -> None:
        """Can this code read a state that was saved so? Asked before anything runs.

        A state that names no version was saved before there were any, and counts as version 1.

        Raises:
            StateError: it cannot; names both versions.
        """
        if written_as is None:
            self._path(1 if self.version is not None else None)
        elif written_as.name != self.name:
            raise StateError(f"the state was saved as {written_as}; this code reads {self.name!r}")
        else:
            self._path(written_as.version)

    def load(self, text: str, written_as: WrittenAs | None = None) -> S:
        """A state from its text, brought to this code's version and validated; a new object each time.

        Raises:
            StateError: this code cannot read it; of versions, both are named.
        """
        self.check(written_as)
        steps = self._path(written_as.version if written_as else 1) if self.version is not None else []
        return load(self.model, self._upgraded(text, steps) if steps else text, types=self.types)

    def taken(self, text: str, written_as: WrittenAs | None = None) -> S:
        """The same, and for who asks first the state that was read from it when it was written."""
        read = text.take() if isinstance(text, StateText) and written_as == self.written_as else None
        return read if type(read) is self.model else self.load(text, written_as)

    def first(self, given: str) -> S:
        """The first state of a run from its input, which people write for the code that there is. Raises StateError."""
        return load(self.model, given, types=self.types)

    def dump(self, state: S) -> StateText:
        """The canonical text of a state. Raises StateError for what would not come back as it is."""
        return dump(state, types=self.types)

    def fields(self, state: S) -> dict[str, Any]:
        """The fields of a `wire.CheckpointIn` or `CheckpointSave` that say the state and what it is."""
        given: dict[str, Any] = {"state": canonical.reread(self.dump(state))}
        if self.version is not None:
            given["state_schema"] = wire.StateSchemaNamed(name=self.name, version=self.version)
        return given

    def read(self, checkpoint: wire.CheckpointOut) -> S:
        """The state of a checkpoint that was asked for with its state. Raises StateError as `load` does."""
        return self.load(canonical.dumps(checkpoint.state), written_as(checkpoint))

    def _path(self, version: int | None) -> list[int]:
        """The versions on the way, each with a function that starts from it. Raises StateError when one is missing."""
        if version is None or version == self.version:
            return []
        saved = WrittenAs(name=self.name, version=version)
        if self.version is None:
            raise StateError(f"the state was saved as {saved}; this code declares no version of its states")
        if version > self.version:
            raise StateError(
                f"the state was saved as {saved}; this code is older: it reads up to {self.version}"
            )
        steps = list(range(version, self.version))
        missing = [str(start) for start in steps if start not in self.upgrades]
        if missing:
            raise StateError(
                f"the state was saved as {saved}; this code is version {self.version} and has no function that"
                f" upgrades from {' and '.join(missing)}"
            )
        return steps

    def _upgraded(self, text: str, steps: list[int]) -> str:
        known = exact.Types(known_types(self.model, self.types))
        try:
            values = exact.unpack(canonical.reread(text), types=known, numbers=canonical.plain)
        except canonical.BadJson as error:
            raise StateError(f"the saved state cannot be read: {error}") from error
        for start in steps:
            values = self._step(start, values)
        try:
            return canonical.dumps(exact.pack(values, types=known))
        except canonical.BadJson as error:
            raise StateError(f"the state {self.name} cannot be kept after its upgrade: {error}") from error

    def _step(self, start: int, values: dict[str, Any]) -> dict[str, Any]:
        said = f"upgrading the state {self.name} from version {start} to {start + 1}"
        try:
            made = self.upgrades[start](values)
        except Exception as error:
            raise StateError(f"{said} failed: {type(error).__name__}: {error}") from error
        if not isinstance(made, dict):
            raise StateError(f"{said} gave no dict but {type(made).__name__}")
        return made
