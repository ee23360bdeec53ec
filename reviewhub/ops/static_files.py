"""Whether the static files that are served are those of this version."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders


def are_stale() -> bool:
    """Whether `collectstatic` ran once and what it collected is not what lies in this version's folders.

    Before it ran, files are served from where they lie, and none is stale. Compares the files themselves: there are a
    dozen, and the time of a file says nothing after an upgrade or a restore.
    """
    root = Path(settings.STATIC_ROOT)
    if not (root / "staticfiles.json").exists():
        return False
    for finder in get_finders():
        for name, storage in finder.list([]):
            copy = root / name
            with storage.open(name) as file:
                if not copy.is_file() or copy.read_bytes() != file.read():
                    return True
    return False
