"""The conversation at a gate, read from the checkpoint's state: messages in the forms that agents keep them in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.values import Items
from reviewhub.core.display import arguments, exact, secrets, segments
from reviewhub.core.display.arguments import Arguments
from reviewhub.core.display.segments import Segment
from reviewhub.web.evidence import speaks_to_agent

SHOWN = 8
CHARACTERS = 1500
STATE_BYTES = 2_000_000
"""Of messages that a page reads; of larger ones it shows none."""
WHO = {
    "user": "Customer",
    "human": "Customer",
    "assistant": "Agent",
    "ai": "Agent",
    "tool": "Tool result",
    "function": "Tool result",
    "system": "Instructions",
}


@dataclass(frozen=True)
class Said:
    """One message: who, what in pieces, and whether it reads as if it gave the agent orders."""

    who: str
    is_agent: bool
    segments: tuple[Segment, ...]
    cut: int
    calls: list[str]
    speaks_to_agent: bool


@dataclass(frozen=True)
class Talk:
    """The end of a conversation, and how much of it came before."""

    said: list[Said]
    earlier: int


def talk(state_text: str) -> Talk:
    """The last messages of a state that has a list of them at `messages`; empty for any other state."""
    tree = canonical.reread(state_text)
    kept = tree.get("messages") if isinstance(tree, dict) else None
    messages = [part.value for part in exact.parts(kept)] if _is_list(kept) else []
    found = [_said(_fields(one)) for one in messages[-SHOWN:] if isinstance(one, dict)]
    return Talk(found, max(0, len(messages) - SHOWN))


def talk_in(state: State) -> Talk:
    """The same of a state of any size: no more of it is parsed than the messages that are shown, where it says so."""
    kept = state.values.get("messages")
    if isinstance(kept, Items):
        first = max(0, kept.length - SHOWN)
        tail = kept.between(first, kept.length)
        if sum(map(len, tail)) > STATE_BYTES:
            return Talk([], 0)
        return Talk(talk(f'{{"messages":[{",".join(tail)}]}}').said, first)
    if kept is None or len(kept.text) > STATE_BYTES:
        return Talk([], 0)
    return talk(f'{{"messages":{kept.text}}}')


def _is_list(kept: Tree) -> bool:
    """Whether messages are kept in a list, a tuple or the like."""
    return isinstance(kept, list) or (isinstance(kept, dict) and isinstance(kept.get("value"), list))


def _fields(one: dict[str, Tree]) -> dict[str, Tree]:
    """The members of a message, whether it is kept as a plain object or with its type."""
    return {part.key: part.value for part in exact.parts(one)}


def _said(one: dict[str, Tree]) -> Said:
    role = exact.word(one.get("role") or one.get("type") or "")
    text = _text(one.get("content"))
    return Said(
        who=WHO.get(role, role[:40] or "Message"),
        is_agent=role in ("assistant", "ai"),
        segments=segments.split(secrets.masked(text)[:CHARACTERS]),
        cut=max(0, len(text) - CHARACTERS),
        calls=_calls(one.get("tool_calls")),
        speaks_to_agent=role in ("user", "human", "tool", "function") and speaks_to_agent(text),
    )


def _text(content: Tree) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_parts(content))
    return "" if content is None else exact.readable(content)


def _parts(content: Iterable[Tree]) -> Iterable[str]:
    for part in content:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            text = part.get("text")
            if isinstance(text, str) or exact.shown(text) is not None:
                yield exact.readable(text)
            else:
                yield f"[{str(part.get('type') or 'part')[:40]}]"


def _calls(calls: Tree) -> list[str]:
    """Names of the tools that a message calls."""
    found: list[str] = []
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            inner = call.get("function")
            name = inner.get("name") if isinstance(inner, dict) else call.get("name")
            if isinstance(name, str):
                found.append(name[:200])
    return found


@dataclass(frozen=True)
class Opened:
    """A state to read: the conversation in it, every other value, and the messages as they are stored."""

    talk: Talk
    rest: Arguments
    stored: Arguments


def opened(state_text: str) -> Opened:
    """A state for the run page; without a conversation in it everything is `rest`."""
    said = talk(state_text)
    rows = arguments.rows(state_text, packed=True)
    if not said.said:
        return Opened(said, rows, Arguments())
    is_message = {row.path: row.path.startswith("/messages/") for row in rows.rows}
    return Opened(
        said,
        arguments.of_rows([row for row in rows.rows if not is_message[row.path]], left_out=rows.left_out),
        arguments.of_rows([row for row in rows.rows if is_message[row.path]]),
    )
