"""A policy as a file: YAML, which is read by the same reader as every policy, and says where what is wrong stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reviewhub_agents import canonical

from reviewhub.core.errors import Invalid
from reviewhub.core.yaml_text import Read, read_yaml, write_yaml
from reviewhub.policies.limit import Limit
from reviewhub.policies.model import Condition, Policy, Rule
from reviewhub.policies.places import place_words
from reviewhub.policies.reading import MAX_POLICY_BYTES, parse_policy, policy_text
from reviewhub.policies.requirement import Escalation, Stage

_FIELDS = (Policy, Rule, Stage, Escalation, Condition, Limit)
_ORDER = {
    name: at for at, name in enumerate(dict.fromkeys(name for one in _FIELDS for name in one.model_fields))
}


class File:
    """A policy as a file says it."""

    def __init__(self, text: str, check: Callable[[str], Policy] = parse_policy) -> None:
        """Raises Invalid, each error with its `line` and `place`.

        Args:
            check: asked beside where the form is wrong, so that other faults are told with it.
        """
        self._read = read_yaml(text, max_bytes=MAX_POLICY_BYTES)
        self.text = ""
        try:
            self.text = canonical.dumps(self._read.tree)
            self.policy = parse_policy(self.text)
        except Invalid as error:
            raise self.located(self._all(error, check), by_place=False) from error

    def _all(self, error: Invalid, check: Callable[[str], Policy]) -> Invalid:
        """What more than the form is wrong with a policy whose form is: its faults count lines as they are written."""
        try:
            check(self.text)
        except Invalid as more:
            return more
        return error

    def located(self, error: Invalid, *, by_place: bool = True) -> Invalid:
        """The same error with the `line` and the `place` (rule and field) of each fault.

        Args:
            by_place: the faults count rules in the order of their places, and not in that of the file.
        """
        return Invalid(error.message, errors=[self._one(fault, by_place) for fault in error.errors])

    def _one(self, fault: dict[str, str], by_place: bool) -> dict[str, str]:
        path = self._in_file(fault["path"]) if by_place else fault["path"]
        return {
            **fault,
            "line": str(self._read.line_of(path)),
            "place": place_words(path, lambda layer, at: _name(self._read, layer, at)),
        }

    def _in_file(self, path: str) -> str:
        parts = path.split("/")
        rules = dict(self.policy.lines).get(parts[1] if len(parts) > 2 else "")
        if rules is None or not parts[2].isdecimal() or int(parts[2]) >= len(rules):
            return path
        named = [rule.get("name") for rule in self._read.tree.get(parts[1], [])]
        parts[2] = str(named.index(rules[int(parts[2])].name))
        return "/".join(parts)


def policy_file(policy: Policy, *, schema: str = "") -> str:
    """The policy as YAML, with the fields of a rule in the order of the documentation.

    Args:
        schema: the address of the JSON Schema, for editors.
    """
    tree = _ordered(canonical.reread(policy_text(policy)))
    tree.setdefault("rules", [])
    head = f"# yaml-language-server: $schema={schema}\n" if schema else ""
    return head + write_yaml(tree)


def _ordered(tree: Any) -> Any:
    if isinstance(tree, dict):
        keys = sorted(tree, key=lambda key: (_ORDER.get(key, len(_ORDER)), key))
        return {key: _ordered(tree[key]) for key in keys}
    return [_ordered(one) for one in tree] if isinstance(tree, list) else tree


def _name(read: Read, layer: str, at: int) -> str:
    try:
        return str(read.tree[layer][at]["name"])
    except (KeyError, IndexError, TypeError):
        return ""
