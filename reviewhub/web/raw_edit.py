"""The arguments of a call as JSON text to edit, and the changes that the edited text means.

Every secret is a word that stands for it, so its bytes never reach a browser; what was not touched keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.core.display.arguments import pointer
from reviewhub.core.display.masking import replaced, secret_values
from reviewhub.core.limits import parse_sent


def raw_text(arguments_text: str, secret_paths: frozenset[str] = frozenset()) -> str:
    """The arguments as indented JSON to edit; every secret is replaced by a word that stands for it."""
    tree = canonical.reread(arguments_text)
    words = {path: _word(path) for path in secret_values(tree, secret_paths)}
    return pretty(replaced(tree, words))


def raw_changes(
    raw: str, arguments_text: str, secret_paths: frozenset[str] = frozenset()
) -> list[dict[str, Tree]]:
    """The changes between the call's arguments and an edited JSON text: as small as objects allow.

    Computed here, so that what was not touched keeps its bytes. Raises `canonical.BadJson`, ValueError.
    """
    before = canonical.reread(arguments_text)
    words = {_word(path): one.value for path, one in secret_values(before, secret_paths).items()}
    after = _restored(parse_sent(raw), words)
    if not isinstance(after, dict) or not isinstance(before, dict):
        raise ValueError("The arguments are one JSON object.")
    found: list[dict[str, Tree]] = []
    todo: list[tuple[str, dict[str, Tree], dict[str, Tree]]] = [("", before, after)]
    while todo:
        path, old, new = todo.pop()
        found.extend({"op": "remove", "path": pointer(path, key)} for key in old if key not in new)
        for key, value in new.items():
            here = pointer(path, key)
            if key not in old:
                found.append({"op": "set", "path": here, "value": value})
                continue
            was = old[key]
            if isinstance(was, dict) and isinstance(value, dict):
                todo.append((here, was, value))
            elif canonical.dumps(was) != canonical.dumps(value):
                found.append({"op": "set", "path": here, "value": value})
    return found


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


def _restored(tree: Tree, words: Mapping[str, Tree]) -> Tree:
    if isinstance(tree, dict):
        return {key: _restored(value, words) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_restored(value, words) for value in tree]
    return words.get(tree, tree) if isinstance(tree, str) else tree
