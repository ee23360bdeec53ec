"""What the record says about checkpoints. Saving one is no event: the checkpoint itself is the record of it."""

from __future__ import annotations

from reviewhub.audit.kinds import Payload, kind


@kind("checkpoint.forked", says="{actor} forked checkpoint {number} of {branch} into {fork}: {reason}")
class CheckpointForked(Payload):
    """A branch goes on from an older checkpoint. `changed` are the JSON pointers of what was changed on the way."""

    branch: str
    number: int
    checkpoint: str
    fork: str
    fork_id: str
    state_hash: str
    changed: list[str]
    reason: str


@kind("checkpoint.corrupt", says="Checkpoint {number} of {branch} does not match its hash and was not used")
class CheckpointCorrupt(Payload):
    """What is stored is not what was saved."""

    branch: str
    number: int
    checkpoint: str
    state_hash: str


@kind("state.registered", says="{actor} registered version {version} of the state {state}")
class StateRegistered(Payload):
    """An agent said what its states are under this name and version; the schema is never changed."""

    state: str
    version: int
    fingerprint: str
