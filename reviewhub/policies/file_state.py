"""Whether the file that an installation keeps its policy in says the same as the policy in force."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from reviewhub.accounts.models import Workspace
from reviewhub.core.errors import Invalid
from reviewhub.policies.as_file import File
from reviewhub.policies.difference import Change, difference
from reviewhub.policies.queries import current
from reviewhub.policies.reading import MAX_POLICY_BYTES, parse_policy, policy_text
from reviewhub.policies.rules import Policy


@dataclass(frozen=True, kw_only=True)
class FileState:
    """The file of a workspace. `problem`: why it cannot be read; `changes`: what applying it would change."""

    path: str
    number: int
    differs: bool = False
    problem: str = ""
    changes: tuple[Change, ...] = ()


def policy_path(workspace: Workspace) -> Path | None:
    """The file of `POLICY_FILE`, in which `{workspace}` stands for the workspace's short name; None without it."""
    named = settings.POLICY_FILE
    return Path(named.replace("{workspace}", workspace.slug)) if named else None


def file_state(workspace: Workspace) -> FileState | None:
    """What the file says against the policy in force; None where no file is set."""
    path = policy_path(workspace)
    if path is None:
        return None
    latest = current(workspace.pk)
    state = FileState(path=str(path), number=latest.number if latest else 0)
    try:
        about = os.stat(path)
        wanted = _read(str(path), about.st_mtime_ns, about.st_size)
    except OSError as error:
        return replace(state, problem=f"{error.strerror or 'It cannot be read'}.")
    except Invalid as error:
        first = error.errors[0] if error.errors else {}
        return replace(state, problem=f"{first.get('place', '')}{first.get('message', error.message)}")
    before = parse_policy(latest.rules) if latest else Policy()
    return replace(
        state,
        differs=policy_text(before) != policy_text(wanted),
        changes=tuple(difference(before, wanted)),
    )


@lru_cache(maxsize=8)
def _read(path: str, changed: int, size: int) -> Policy:
    """The file as it was at that time. Raises OSError, Invalid."""
    if size > MAX_POLICY_BYTES:
        raise Invalid(f"It has more than {MAX_POLICY_BYTES} bytes.")
    try:
        return File(Path(path).read_text(encoding="utf-8")).policy
    except UnicodeDecodeError as error:
        raise Invalid("It is not written in UTF-8.") from error
