"""The pages about errors and events are whole."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import reviewhub
from reviewhub.audit import kinds
from reviewhub.core.errors import ReviewHubError

DOCS = Path(__file__).resolve().parent.parent / "docs"


def errors(base: type[ReviewHubError] = ReviewHubError) -> Iterator[type[ReviewHubError]]:
    """Every error of the product."""
    for found in base.__subclasses__():
        if found.__module__.startswith("reviewhub."):
            yield found
        yield from errors(found)


def test_every_error_code_is_documented_with_its_status() -> None:
    for module in pkgutil.walk_packages(reviewhub.__path__, "reviewhub."):
        if ".migrations" not in module.name and ".management" not in module.name:
            importlib.import_module(module.name)
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", (DOCS / "api.md").read_text(), re.MULTILINE)
    documented = {(int(status), code) for status, codes in rows for code in re.findall(r"`(\w+)`", codes)}
    missing = {(found.status, found.code) for found in errors()} - documented
    assert not missing
    statuses = [code for _, code in documented]
    assert len(statuses) == len(set(statuses)), "a code means one thing"


def test_every_event_is_documented_with_its_sentence() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \|$", (DOCS / "events.md").read_text(), re.MULTILINE)
    ours = [
        found for found in map(kinds.find, kinds.names()) if found.model.__module__.startswith("reviewhub.")
    ]
    real = {(found.name, found.says, ", ".join(found.model.model_fields)) for found in ours}
    assert {tuple(row) for row in rows} == real
