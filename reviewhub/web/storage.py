"""Where static files are served from: by names that hold their content's hash, so that browsers may keep them."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # whitenoise ships no types
    """Hashed names once `collectstatic` ran; before that (tests, a fresh checkout) the plain names."""

    def stored_name(self, name: str) -> str:
        """The hashed name of `name`; raises ValueError for a file that `collectstatic` did not find."""
        if not self.hashed_files:
            return name
        hashed: str = super().stored_name(name)
        return hashed
