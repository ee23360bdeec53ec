"""One entry of the audit log as people read it: who, through which door, on what evidence, what differs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from reviewhub_agents import canonical

from reviewhub.audit.models import Event
from reviewhub.core.display import arguments, moments
from reviewhub.core.display.changed import Changed, changed
from reviewhub.web.audit_kinds import kind_words

ICONS: Final = {
    "request": "gate",
    "vote": "check",
    "call": "tool",
    "secret": "key",
    "run": "branch",
    "branch": "branch",
    "checkpoint": "branch",
    "policy": "shield",
    "tool": "tool",
    "person": "key",
    "member": "users",
    "team": "users",
    "agent": "bot",
    "key": "key",
}
TONES: Final = {
    "decided": "accent",
    "failed": "bad",
    "denied": "bad",
    "unknown": "warn",
    "revoked": "warn",
    "stopped": "bad",
}
DOORS: Final = {"page": "a page", "api": "the API", "email": "an e-mail", "schedule": "the server itself"}
BY_HTTP: Final = ("page", "api")
# Field → what it is called; each stands beside who and when, and is not repeated below.
EVIDENCE: Final = {
    "digest": "Digest of the call",
    "displayed": "Digest of what was shown",
    "policy_version": "Policy version",
    "checkpoint": "Checkpoint’s hash",
    "state_hash": "Checkpoint’s hash",
}
# Of an entry with a lone `before`: what it was the value of.
LONE: Final = ("risk", "sentence", "words", "validation", "limits")


@dataclass(frozen=True)
class Line:
    """One entry of the list."""

    event: Event

    @property
    def kind(self) -> str:
        """What its kind is called."""
        return kind_words(self.event.kind)

    @property
    def icon(self) -> str:
        """By what it is about."""
        return ICONS.get(self.event.kind.partition(".")[0], "log")

    @property
    def tone(self) -> str:
        """By what happened."""
        verb = self.event.kind.partition(".")[2]
        return next((tone for word, tone in TONES.items() if word in verb), "")

    @property
    def day(self) -> str:
        """The reader's day, for the group's heading."""
        return moments.day(self.event.at)

    @property
    def leaf(self) -> str:
        """The event's own hash."""
        return bytes(self.event.leaf).hex()

    @cached_property
    def _said(self) -> dict[str, Any]:
        body = self.event.payload.body
        tree = canonical.reread(body) if body else None
        return tree if isinstance(tree, dict) else {}

    @cached_property
    def data(self) -> dict[str, Any]:
        """What was recorded; empty for an erased one."""
        found = self._said.get("data")
        return found if isinstance(found, dict) else {}

    @property
    def door(self) -> str:
        """Through which door, for people."""
        source = str(self._actor.get("source", ""))
        return DOORS.get(source, source)

    @property
    def ip(self) -> str:
        """The address that it came from, as far as known."""
        return str(self._actor.get("ip", ""))

    @property
    def http_request(self) -> str:
        """The id of the HTTP request, which stands in the logs too."""
        return str(self._actor.get("http_request", ""))

    @property
    def came_by_http(self) -> bool:
        """Whether there was an HTTP request; what an older version wrote does not say which."""
        return self._actor.get("source") in BY_HTTP

    @property
    def _actor(self) -> dict[str, Any]:
        found = self._said.get("actor")
        return found if isinstance(found, dict) else {}

    @property
    def evidence(self) -> list[tuple[str, str]]:
        """Digests, policy and checkpoint that the entry names."""
        found = [(words, str(self.data.get(name) or "")) for name, words in EVIDENCE.items()]
        return [(words, value) for words, value in found if value and value != "0"]

    @cached_property
    def differences(self) -> list[Changed]:
        """What was and what is, of an entry that says both."""
        if "changes" in self.data:
            return _edited(self.data)
        return [
            changed(name, _words(self.data[old]), _words(self.data[name]))
            for name, old in _pairs(self.data)
            if self.data[old] != self.data[name]
        ]

    @property
    def rest(self) -> arguments.Arguments | None:
        """What else was recorded, as rows; None for an erased one."""
        if not self._said:
            return None
        told = {*EVIDENCE} | {one for pair in _pairs(self.data) for one in pair}
        told |= {"changes", "before"} if "changes" in self.data else set()
        return arguments.rows(
            canonical.dumps(
                {
                    name: value
                    for name, value in self.data.items()
                    if name not in told and value not in (None, "")
                }
            )
        )


def _pairs(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Fields that an entry has twice, as it was and as it is: name, and the name of what was."""
    found = [
        (name, old)
        for name in data
        for old in (f"old_{name}", f"{name}_before")
        if old in data and name in data
    ]
    lone = next((name for name in LONE if name in data), None)
    return [*found, (lone, "before")] if lone and "before" in data else found


def _edited(data: dict[str, Any]) -> list[Changed]:
    """The changes of an edit, value by value, with what stood there."""
    becomes, was = (_at_paths(data.get(name)) for name in ("changes", "before"))
    return [
        changed(path.removeprefix("/"), _words(was.get(path)), _words(becomes.get(path)))
        for path in {**becomes, **was}
    ]


def _at_paths(text: Any) -> dict[str, Any]:
    """Path → value of a list of changes as the record has it; None for what is removed."""
    tree = canonical.reread(str(text)) if text else []
    steps = [one for one in tree if isinstance(one, dict)] if isinstance(tree, list) else []
    return {str(one.get("path", "")): one.get("value") for one in steps}


def _words(value: Any) -> str | None:
    """A value as text to read; None for none."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    if isinstance(value, dict | list):
        return canonical.dumps(value)
    return None if value is None else arguments.in_words(value)[0]
