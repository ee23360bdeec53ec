"""What the record says about retention."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, counted, kind


@kind("run.pruned", says="Retention removed {went} of the run {title}")
class RunPruned(Payload):
    """Checkpoints or blobs of a run went, in one transaction. `rule` is the canonical text of the limits in force.

    `digest` is that of the removal, over the ids and hashes of what went; `bytes` those that were stored.
    """

    title: str
    rule: str
    removal: str
    checkpoints: int
    blobs: int
    bytes: int
    digest: str

    @property
    def went(self) -> str:
        """What, in words."""
        return f"{counted(self.checkpoints, 'checkpoint')} and {counted(self.blobs, 'blob')}"


@kind("run.prune_failed", says="Retention could not go through the run {title}: {problem}")
class RunPruneFailed(Payload):
    """Nothing more of the run is removed until a look at it succeeds; the page Retention lists it until then."""

    title: str
    problem: str


@kind("retention.rule_set", says="{actor} set retention of {about}: {words}")
class RuleSet(Payload):
    """A rule was made or changed. `rule` and `before` are canonical texts of limits; `before` is "" for a new one."""

    about: str
    words: str
    rule: str
    before: str
    version: int


@kind("retention.rule_removed", says="{actor} removed the retention rule of {about}")
class RuleRemoved(Payload):
    """A rule is no longer in force."""

    about: str
    before: str
    version: int


@kind("run.held", says="{actor} put the run {title} under hold: {reason}")
class RunHeld(Payload):
    """From now on nothing of the run is removed."""

    title: str
    reason: str


@kind("run.released", says="{actor} lifted the hold on the run {title}: {reason}")
class RunReleased(Payload):
    """The rules are about the run again. `held_because` is what the hold said."""

    title: str
    reason: str
    held_because: str


@kind("checkpoint.pinned", says="{actor} pinned checkpoint {number} of {branch}: {reason}")
class CheckpointPinned(Payload):
    """The checkpoint stays whatever a rule says."""

    branch: str
    number: int
    state_hash: str
    reason: str


@kind("checkpoint.unpinned", says="{actor} took the pin off checkpoint {number} of {branch}")
class CheckpointUnpinned(Payload):
    """The rules are about the checkpoint again. `pinned_because` is what the pin said."""

    branch: str
    number: int
    state_hash: str
    pinned_because: str


@kind("run.erased", says="{actor} erased what a run held: {reason}")
class RunErased(Payload):
    """Ids, hashes and this event are what is left. `digest` is over the removals of the run, in their order."""

    reason: str
    checkpoints: int
    blobs: int
    events: int
    digest: str


@kind("run.drill_failed", says="The run {title} could not be resumed in a drill: {problem}")
class RunDrillFailed(Payload):
    """A run that was loaded as if it went on does not. Nothing of it was changed."""

    title: str
    branch: str
    checkpoint: str
    problem: str


@kind("member.erased", says="{actor} erased who {who} was: {reason}")
class MemberErased(Payload):
    """`who` is the invented name that stands where theirs stood."""

    who: str
    reason: str


@kind("person.exported", says="{actor} exported what is kept about {who}")
class PersonExported(Payload):
    """The data of a member, or of somebody whom runs were started for."""

    who: str
