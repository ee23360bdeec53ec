"""Text to fill states with: real prose and code, never repeated, the same for both sides."""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import Any

MOST = 14_000_000
_A_FILE = 60_000


def text(folder: Path) -> str:
    """The Python files and package descriptions below `folder`, in an order that does not change."""
    files = sorted(folder.rglob("*.dist-info/METADATA")) + sorted(folder.glob("[o-s]*/**/*.py"))
    random.Random(1).shuffle(files)
    parts: list[str] = []
    length = 0
    for file in files:
        part = file.read_text(encoding="utf-8", errors="ignore").replace("\0", "")[:_A_FILE]
        parts.append(part)
        length += len(part)
        if length > MOST:
            break
    return "".join(parts)


def messages(words: str, count: int, size: int) -> list[dict[str, Any]]:
    """`count` messages with `size` characters of text each."""
    dice = random.Random(7)
    return [
        {
            "id": str(uuid.UUID(int=dice.getrandbits(128))),
            "type": "ai" if place % 2 else "human",
            "content": words[place * size : (place + 1) * size],
            "ts": 1790000000 + place,
        }
        for place in range(count)
    ]
