"""What the record says about tools."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("tool.registered", says="{actor} registered the tool {tool}")
class ToolRegistered(Payload):
    """An agent described a tool for the first time."""

    tool: str
    effect: str
    fingerprint: str


@kind("tool.changed", says="{actor} changed the tool {tool}: {changed_text}")
class ToolChanged(Payload):
    """An agent described a tool otherwise than before. `risk_kept` says that a weaker effect did not lower the risk,
    `effect_held` by which effect policy goes on.
    """

    tool: str
    changed: list[str]
    effect: str
    effect_before: str
    fingerprint: str
    fingerprint_before: str
    risk_kept: str
    effect_held: str = ""

    @property
    def changed_text(self) -> str:
        """The changed parts in one line."""
        return ", ".join(self.changed)


@kind("tool.sentence_set", says="{actor} set the sentence of {tool}")
class SentenceSet(Payload):
    """An admin wrote what people read first about calls of this tool."""

    tool: str
    sentence: str
    before: str


@kind("tool.risk_set", says="{actor} set the risk of {tool} to {risk}")
class RiskSet(Payload):
    """An admin said how much harm a wrong call does; empty means the default for the effect."""

    tool: str
    risk: str
    before: str


@kind("tool.effect_taken", says="{actor} took the agent's word that {tool} is {effect}")
class EffectTaken(Payload):
    """An admin let policy go by the weaker effect that an agent says a tool has."""

    tool: str
    effect: str
    before: str
