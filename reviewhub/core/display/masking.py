"""Which values of a JSON text are secret, and the text without them: one answer for pages, API and forms.

A value is secret when the tool's schema marks it `writeOnly`, when a key on the way to it is named like a secret, or
when it has a secret's shape (of a text only that part). What is hidden here only `reviews.reveal` shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.core.display import secrets
from reviewhub.core.display.arguments import pointer
from reviewhub.core.display.write_only import marked_in


def masked(text: str, schema_text: str = "") -> Tree:
    """The value of a JSON text with every secret masked; `schema_text` is the JSON Schema for it, if there is one."""
    return masked_tree(canonical.reread(text), schema_text)


def masked_tree(tree: Tree, schema_text: str = "") -> Tree:
    """As `masked`, for a value that was read already; what of it holds no secret is not copied."""
    hidden = secret_values(tree, marked_in(schema_text, tree))
    return replaced(tree, {path: one.shown for path, one in hidden.items()})


def masked_text(text: str, schema_text: str = "") -> str:
    """The same as JSON text: what is put where people search it."""
    return canonical.dumps(masked(text, schema_text))


def masked_changes(text: str, after: str, schema_text: str = "") -> list[Tree]:
    """Changes (a JSON list of `core.changes`) that led to the arguments `after`, with every secret value masked."""
    tree = canonical.reread(after)
    words = {path: one.shown for path, one in secret_values(tree, marked_in(schema_text, tree)).items()}
    changes = masked(text)
    found: list[Tree] = []
    for change in changes if isinstance(changes, list) else []:
        if isinstance(change, dict) and isinstance(path := change.get("path"), str) and "value" in change:
            change = change | {"value": _hidden_at(path, change["value"], words)}
        found.append(change)
    return found


def _hidden_at(path: str, value: Tree, words: Mapping[str, str]) -> Tree:
    """The value put at `path`. At the end of a list (`-`) the newest item tells; below a secret key all is hidden."""
    if any(secrets.is_secret_key(part) for part in path.split("/")):
        return secrets.mask(canonical.dumps(value))
    if path.endswith("/-"):
        items = [known for known in words if known.startswith(path[:-1])]
        return secrets.mask(canonical.dumps(value)) if items else value
    return replaced(value, words, path)


MOST_FOUND = 1000


@dataclass(frozen=True)
class Secret:
    """A value that is not shown."""

    value: str | Number
    whole: bool
    """Whether all of it is secret; else the parts with a secret's shape."""

    @property
    def shown(self) -> str:
        """What stands in its place."""
        text = self.value if isinstance(self.value, str) else self.value.literal
        return secrets.mask(text) if self.whole else secrets.masked(text)


def secret_values(tree: Tree, marked: frozenset[str]) -> dict[str, Secret]:
    """Every secret inside `tree` by its pointer: marked, at a secret-looking key, or of a secret's shape.

    Where MOST_FOUND are known, no text is looked through any more, and each that is left counts as one.
    """
    found: dict[str, Secret] = {}
    todo: list[tuple[str, Tree, bool]] = [("", tree, False)]
    while todo:
        path, value, is_secret = todo.pop()
        is_secret = is_secret or path in marked
        if isinstance(value, dict):
            for key, item in value.items():
                is_hidden = is_secret or secrets.is_secret_key(key)
                # A pointer costs more than the look: it is made for what holds others, is a text, or may be hidden.
                if is_hidden or marked or isinstance(item, dict | list | str):
                    todo.append((pointer(path, key), item, is_hidden))
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if is_secret or marked or isinstance(item, dict | list | str):
                    todo.append((f"{path}/{at}", item, is_secret))
        elif is_secret and isinstance(value, str | Number):
            found[path] = Secret(value, whole=True)
        elif isinstance(value, str) and (len(found) >= MOST_FOUND or secrets.find(value)):
            found[path] = Secret(value, whole=len(found) >= MOST_FOUND)
    return found


def replaced(tree: Tree, words: Mapping[str, str], path: str = "") -> Tree:
    """`tree` with these texts in the place of the values at their pointers; nothing else is copied.

    Args:
        path: where `tree` stands in the value that the pointers lead into.
    """
    return _replaced(tree, words, path, _ways(words)) if words else tree


def _ways(words: Mapping[str, str]) -> set[str]:
    """The pointers of everything that holds something at one of these."""
    ways: set[str] = set()
    for path in words:
        while path and (path := path.rpartition("/")[0]) not in ways:
            ways.add(path)
    return ways


def _replaced(tree: Tree, words: Mapping[str, str], path: str, ways: set[str]) -> Tree:
    if path not in ways:
        return words.get(path, tree) if not isinstance(tree, dict | list) else tree
    if isinstance(tree, dict):
        return {key: _replaced(value, words, pointer(path, key), ways) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_replaced(value, words, f"{path}/{at}", ways) for at, value in enumerate(tree)]
    return words.get(path, tree)
