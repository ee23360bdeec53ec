"""Key files of one installation: made once, readable by their owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def read_or_make(path: Path) -> str:
    """The secret in `path`; a new random one is written first (mode 0600) where there is none.

    Two processes that start at once agree: the file appears whole, by a hard link that only one can make.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first; its secret counts
        finally:
            draft.unlink()
    return path.read_text(encoding="utf-8").strip()
