"""The blob store of tests: it forgets everything when its process ends, so no setting selects it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reviewhub.checkpoints.blobs.protocol import check_keys


class MemoryStore:
    """A dict."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """See BlobStore."""
        check_keys(keys)
        return {key: self.kept[key] for key in keys if key in self.kept}

    def put_many(self, blobs: Mapping[str, bytes]) -> None:
        """See BlobStore."""
        check_keys(blobs)
        self.kept.update(blobs)

    def delete_many(self, keys: Collection[str]) -> None:
        """See BlobStore."""
        check_keys(keys)
        for key in keys:
            self.kept.pop(key, None)
