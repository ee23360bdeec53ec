"""The arguments of a call, or a state, as JSON text to edit, and the changes that the edited text means.

Every secret is a word that stands for it, so its bytes never reach a browser; what was not touched keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.core.comparing import Step, compare
from reviewhub.core.display.masking import replaced, secret_values
from reviewhub.core.limits import parse_sent


def raw_text(text: str, secret_paths: frozenset[str] = frozenset()) -> str:
    """A JSON object as indented JSON to edit; every secret is replaced by a word that stands for it."""
    tree = canonical.reread(text)
    words = {path: _word(path) for path in secret_values(tree, secret_paths)}
    return pretty(replaced(tree, words))


def raw_changes(
    raw: str, before_text: str, secret_paths: frozenset[str] = frozenset()
) -> list[dict[str, Tree]]:
    """The changes between the arguments and an edited JSON text, few and readable.

    Computed here, so that what was not touched keeps its bytes. Raises `canonical.BadJson`, ValueError.
    """
    before, after = _both(raw, before_text)
    words = {_word(path): one.value for path, one in secret_values(before, secret_paths).items()}
    return _changes(compare(before, _restored(after, words)))


def open_changes(
    raw: str, before_text: str, secret_paths: frozenset[str] = frozenset()
) -> list[dict[str, Tree]]:
    """The same where the changes go through a browser again: no secret is in one.

    Raises `canonical.BadJson`, and ValueError also for a secret that was put where it did not stand.
    """
    before, after = _both(raw, before_text)
    words = {path: _word(path) for path in secret_values(before, secret_paths)}
    hidden = replaced(before, words)
    changes = _changes(compare(hidden, after))
    if _held(words, changes):
        changes = _changes(compare(hidden, after, is_fine=True))
    if moved := _held(words, changes):
        raise ValueError(f"The secret at {moved} stays where it is; it can only be removed.")
    return changes


def json_kind(text: str) -> str:
    """What a text is besides text: `a JSON number` and so on, `` for text that is nothing else."""
    try:
        tree = parse_sent(text)
    except canonical.BadJson:
        return ""
    if isinstance(tree, str):
        return ""
    kinds = {dict: "a JSON object", list: "a JSON list", Number: "a JSON number", bool: "a JSON boolean"}
    return kinds.get(type(tree), "JSON null")


def pretty(tree: Tree, indent: int = 0) -> str:
    """Indented JSON with every number as it was written; as deep as `canonical` reads."""
    pad, inner = "  " * indent, "  " * (indent + 1)
    if isinstance(tree, dict) and tree:
        lines = [f"{inner}{canonical.dumps(key)}: {pretty(value, indent + 1)}" for key, value in tree.items()]
        return "{\n" + ",\n".join(lines) + f"\n{pad}}}"
    if isinstance(tree, list) and tree:
        return "[\n" + ",\n".join(f"{inner}{pretty(value, indent + 1)}" for value in tree) + f"\n{pad}]"
    return canonical.dumps(tree)


def _word(path: str) -> str:
    return f"•••• secret at {path}, kept as it is ••••"


def _both(raw: str, before_text: str) -> tuple[dict[str, Tree], dict[str, Tree]]:
    before, after = canonical.reread(before_text), parse_sent(raw)
    if not isinstance(after, dict) or not isinstance(before, dict):
        raise ValueError("This is one JSON object.")
    return before, after


def _changes(steps: Sequence[Step]) -> list[dict[str, Tree]]:
    return [
        {"op": op, "path": path} if op == "remove" else {"op": op, "path": path, "value": value}
        for op, path, value in steps
    ]


def _held(words: Mapping[str, str], changes: Sequence[dict[str, Tree]]) -> str:
    """The path of a secret whose word is in a value of the changes; empty for none."""
    text = canonical.dumps([one.get("value") for one in changes])
    return next((path for path, word in words.items() if canonical.dumps(word)[1:-1] in text), "")


def _restored(tree: Tree, words: Mapping[str, Tree]) -> Tree:
    if isinstance(tree, dict):
        return {key: _restored(value, words) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_restored(value, words) for value in tree]
    return words.get(tree, tree) if isinstance(tree, str) else tree
