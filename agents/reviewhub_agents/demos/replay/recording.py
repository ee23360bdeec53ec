"""Reading recorded conversations, and what in them is a tool call with which result."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from reviewhub_agents.canonical import BadJson, Tree, dumps, parse

_ERROR = "Error"
"""How the recorded tools say that they failed."""


class BadRecording(ValueError):
    """The file is not a recording of conversations."""


@dataclass(frozen=True)
class Step:
    """One recorded tool call and how it ended."""

    tool: str
    call_id: str
    arguments_text: str
    result: Tree
    error: str | None
    is_write: bool


@dataclass(frozen=True)
class Turn:
    """One assistant message with tool calls: where it stands, and its calls in order."""

    position: int
    steps: tuple[Step, ...]

    def some(self, *, writes: bool) -> list[Step]:
        """The writes, or the reads, of this turn."""
        return [step for step in self.steps if step.is_write == writes]


@dataclass(frozen=True)
class Conversation:
    """One recorded conversation."""

    name: str
    external_id: str
    messages: list[Tree]
    turns: tuple[Turn, ...]


def fingerprint(path: Path) -> str:
    """Eight hex digits of the file's content, for names that belong to this recording."""
    return sha256(path.read_bytes()).hexdigest()[:8]


def read(path: Path, *, name: str, is_write: Callable[[str], bool]) -> Iterator[Conversation]:
    """The conversations of a file of JSON lines, plain or gzipped. Raises `BadRecording` naming the line."""
    with path.open("rb") as plain:
        zipped = plain.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rb") if zipped else path.open("rb") as lines:
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                yield _conversation(parse(line), name, number, is_write)
            except (BadJson, KeyError, TypeError, IndexError) as error:
                raise BadRecording(f"{path.name}, line {number + 1}: no conversation ({error!r})") from error


def _conversation(tree: Tree, name: str, number: int, is_write: Callable[[str], bool]) -> Conversation:
    about, messages = ({}, tree) if isinstance(tree, list) else (tree, None)
    if not isinstance(about, dict):
        raise TypeError("neither an object nor a list")
    found = about.get("messages") if messages is None else messages
    if not isinstance(found, list):
        raise TypeError("no list of messages")
    labels = [f"{key} {about[key]}" for key in ("task", "trial") if key in about]
    return Conversation(
        name=", ".join(labels) or f"conversation {number}",
        external_id=f"{name}/{number}",
        messages=found,
        turns=tuple(_turns(found, is_write)),
    )


def _turns(messages: list[Any], is_write: Callable[[str], bool]) -> Iterator[Turn]:
    for position, message in enumerate(messages):
        calls = message.get("tool_calls") if message["role"] == "assistant" else None
        if calls:
            yield Turn(position, tuple(_steps(calls, _results(messages, position), is_write)))


def _results(messages: list[Any], position: int) -> list[Any]:
    """The tool messages that directly follow an assistant message: ids repeat, so others are none of its results."""
    results = []
    for message in messages[position + 1 :]:
        if message["role"] != "tool":
            break
        results.append(message)
    return results


def _steps(calls: list[Any], results: list[Any], is_write: Callable[[str], bool]) -> Iterator[Step]:
    left = list(results)
    for call in calls:
        function, call_id = call["function"], str(call.get("id") or "")
        answer = next((item for item in left if item.get("tool_call_id") == call_id), None)
        if answer is not None:
            left.remove(answer)
        result, error = _ending(answer)
        yield Step(
            tool=function["name"],
            call_id=call_id[:255],
            arguments_text=_arguments(function.get("arguments")),
            result=result,
            error=error,
            is_write=is_write(function["name"]),
        )


def _ending(answer: Any) -> tuple[Tree, str | None]:
    """The recorded result, or the error. A result that is JSON text is its value."""
    if answer is None:
        return None, "The recording has no result."
    content = answer.get("content")
    if not isinstance(content, str):
        return content, None
    if content.startswith(_ERROR):
        return None, content
    try:
        return parse(content), None
    except BadJson:
        return content, None


def _arguments(given: Any) -> str:
    """The exact text of the arguments; what is no JSON object is shown as it is, under `text`."""
    if isinstance(given, str):
        try:
            if isinstance(parse(given), dict):
                return given
        except BadJson:
            pass  # A recorded model may well have written no JSON; reviewers see what it wrote.
        return dumps({"text": given})
    return dumps(given if isinstance(given, dict) else {})
