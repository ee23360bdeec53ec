"""Agent state to text and back."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema

from reviewhub_agents import canonical

from .errors import GraphError, StateError

S = TypeVar("S", bound=BaseModel)


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


def dump(state: BaseModel) -> str:
    """The canonical text of a state.

    Raises:
        StateError: it holds what JSON cannot (NaN, a lone surrogate); names the path.
    """
    try:
        return canonical.dumps(state.model_dump(mode="json"))
    except (canonical.BadJson, ValueError) as error:
        raise StateError(f"the state cannot be saved: {error}") from error


def load(model: type[S], text: str) -> S:
    """A state from its text, a new object each time.

    Raises:
        StateError: this version of the agent cannot read it.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise StateError(f"this version of the agent cannot read the saved state: {error}") from error
