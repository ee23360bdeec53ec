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
