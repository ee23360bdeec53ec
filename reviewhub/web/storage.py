"""Where static files are served from: by names that hold their content's hash, so that browsers may keep them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

from reviewhub.web.squeeze import squeezed


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # whitenoise ships no types
    """Hashed names once `collectstatic` ran; before that (tests, a fresh checkout) the plain names.

    Under its hashed name a style sheet of this project is squeezed; the plain name keeps it as it was written.
    """

    def post_process(self, paths: dict[str, tuple[Storage, str]], **options: Any) -> Iterator[Any]:
        """Hashes and compresses `paths`: the name of each file, the storage it comes from and its name there."""
        read = {
            name: (_Squeezed(storage) if _is_own_sheet(name) else storage, path)
            for name, (storage, path) in paths.items()
        }
        yield from super().post_process(read, **options)

    def stored_name(self, name: str) -> str:
        """The hashed name of `name`; raises ValueError for a file that `collectstatic` did not find."""
        if not self.hashed_files:
            return name
        hashed: str = super().stored_name(name)
        return hashed


class _Squeezed:
    """Opens the style sheets of a storage, squeezed."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def open(self, name: str) -> ContentFile[bytes]:
        with self._storage.open(name) as file:
            return ContentFile(squeezed(file.read().decode()).encode())


def _is_own_sheet(name: str) -> bool:
    """Packages keep theirs in folders."""
    return name.endswith(".css") and "/" not in name
