"""The mail folder: where e-mails stand as files while no mail server is set (`EMAIL_FILE_PATH`)."""

from __future__ import annotations

import email
import os
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

# What the file backend writes after each message of a connection.
_END = b"-" * 79 + b"\n"


def forget(is_meant: Callable[[str], bool]) -> int:
    """Removes the e-mails whose words `is_meant` says yes to; how many.

    The others of a file stay. Where another backend sends, there is no folder, and nothing to do.
    """
    folder = Path(settings.EMAIL_FILE_PATH)
    gone = 0
    for path in sorted(folder.glob("*.log")) if folder.is_dir() else []:
        parts = [part for part in path.read_bytes().split(_END) if part.strip()]
        kept = [part for part in parts if not is_meant(_words(part))]
        if len(kept) == len(parts):
            continue
        gone += len(parts) - len(kept)
        if kept:
            new = path.with_suffix(".new")
            new.write_bytes(b"".join(part + _END for part in kept))
            os.replace(new, path)
        else:
            path.unlink(missing_ok=True)
    return gone


def _words(part: bytes) -> str:
    """The text of one message, whatever it is packed in for the way."""
    found = email.message_from_bytes(part.lstrip())
    return "\n".join(
        bytes(one.get_payload(decode=True) or b"").decode("utf-8", "replace")
        for one in found.walk()
        if not one.is_multipart()
    )
