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
DRAFT = ":2,D"


def deliver(folder: Path, *, recipient: str, subject: str, body: str, key: str) -> bool:
    """Puts a letter into the mailbox in `folder`, once per key; false when it is there already.

    The name of its file is made from the key, and a file appears whole or not at all, so that two senders of one key
    leave one letter.
    """
    for part in ("tmp", "new", "cur"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    letter = _letter(recipient, subject, body)
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


def put_draft(folder: Path, *, recipient: str, subject: str, body: str) -> None:
    """Puts a draft into the mailbox in `folder`, in the place of the one to the same recipient; whole or not at all."""
    for part in ("tmp", "new", "cur"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    ready = folder / "tmp" / secrets.token_hex(16)
    ready.write_bytes(_letter(recipient, subject, body).as_bytes())
    name = hashlib.sha256(f"draft {recipient}".encode()).hexdigest()
    # "D" is how a Maildir marks drafts.
    ready.replace(folder / "cur" / f"{name}{DRAFT}")


def drafts(folder: Path) -> list[EmailMessage]:
    """The drafts in the mailbox, by the names of their files."""
    return [_read(path) for path in sorted((folder / "cur").glob(f"*{DRAFT}"))]


def letters(folder: Path) -> list[EmailMessage]:
    """The letters in the mailbox, the oldest first."""
    found = sorted((folder / "new").glob("*"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return [_read(path) for path in found]


def _read(path: Path) -> EmailMessage:
    with path.open("rb") as file:
        return message_from_binary_file(file, policy=policy.default)


def _letter(recipient: str, subject: str, body: str) -> EmailMessage:
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = SENDER, _one_line(recipient), _one_line(subject)
    letter.set_content(body)
    return letter


def _one_line(text: str) -> str:
    """A header must not begin a second one."""
    return " ".join(text.split())
