"""Blobs as files below a folder, which may be a mounted one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from reviewhub.checkpoints.blobs.protocol import StoreDown, check_keys
from reviewhub.checkpoints.blobs.side_by_side import side_by_side

WRITE_SECONDS = 60.0


class FileStore:
    """A key is a path below `root`. A file appears under its name when all of it is on the disk.

    Args:
        root: an absolute path. The folder must be there: one that is not may be a mount that is missing.
        seconds: the limit for reading.
    """

    def __init__(self, root: Path, *, seconds: float) -> None:
        self._root = root
        self._seconds = seconds

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """See BlobStore."""
        check_keys(keys)
        found = side_by_side(self._get, keys, seconds=self._seconds)
        return {key: data for key, data in found.items() if data is not None}

    def put_many(self, blobs: Mapping[str, bytes]) -> None:
        """See BlobStore."""
        check_keys(blobs)
        side_by_side(lambda key: self._put(key, blobs[key]), blobs, seconds=WRITE_SECONDS)

    def delete_many(self, keys: Collection[str]) -> None:
        """See BlobStore."""
        check_keys(keys)
        side_by_side(self._delete, keys, seconds=WRITE_SECONDS)

    def _get(self, key: str) -> bytes | None:
        with self._answering():
            try:
                return (self._root / key).read_bytes()
            except FileNotFoundError:
                self._root.stat()
                return None

    def _put(self, key: str, data: bytes) -> None:
        path = self._root / key
        with self._answering():
            self._root.stat()
            self._make_folder(path.parent)
            unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
            try:
                _write(unfinished, data)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)
            _to_disk(path.parent)

    def _delete(self, key: str) -> None:
        with self._answering():
            self._root.stat()
            path = self._root / key
            path.unlink(missing_ok=True)
            # What a process that was killed while it put this key has not finished.
            for unfinished in path.parent.glob(f"{escape(path.name)}.*.part"):
                unfinished.unlink(missing_ok=True)

    def _make_folder(self, folder: Path) -> None:
        """The folder, with its name on the disk; those above it too."""
        if folder.is_dir():
            return
        self._make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _to_disk(folder.parent)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreDown(f"{self._root}: {error.strerror or type(error).__name__}") from error


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _to_disk(folder: Path) -> None:
    """Makes the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
