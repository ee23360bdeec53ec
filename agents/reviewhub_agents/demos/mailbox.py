"""A local mailbox for the demo agents: a Maildir folder, which every mail program reads.

A letter with a key is put there once, however often it is sent.
"""

from __future__ import annotations

import hashlib
import secrets
from email import message_from_binary_file, policy
from email.message import EmailMessage
from pathlib import Path

SENDER = "Demo shop <shop@example.com>"


def deliver(folder: Path, *, recipient: str, subject: str, body: str, key: str) -> bool:
    """Puts a letter into the mailbox in `folder`, once per key; false when it is there already.

    The name of its file is made from the key, and a file appears whole or not at all, so that two senders of one key
    leave one letter.
    """
    for part in ("tmp", "new", "cur"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = SENDER, _one_line(recipient), _one_line(subject)
    letter.set_content(body)
    name = hashlib.sha256(key.encode()).hexdigest()
    ready, target = folder / "tmp" / secrets.token_hex(16), folder / "new" / name
    # A mail program moves what was read to `cur`, with a mark behind the name.
    if target.exists() or any((folder / "cur").glob(f"{name}*")):
        return False
    ready.write_bytes(letter.as_bytes())
    try:
        target.hardlink_to(ready)
    except FileExistsError:
        return False
    finally:
        ready.unlink()
    return True


def letters(folder: Path) -> list[EmailMessage]:
    """The letters in the mailbox, the oldest first."""
    found = sorted((folder / "new").glob("*"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    read = []
    for path in found:
        with path.open("rb") as file:
            read.append(message_from_binary_file(file, policy=policy.default))
    return read


def _one_line(text: str) -> str:
    """A header must not begin a second one."""
    return " ".join(text.split())
