"""The pages about errors and events are whole."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from rest_framework import exceptions as drf
from reviewhub_agents.wire.base import _CODES

import reviewhub
from reviewhub.api.problems import problem_of
from reviewhub.audit import kinds
from reviewhub.core.errors import ReviewHubError

SOURCE = Path(reviewhub.__file__).parent
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


def fault_codes() -> Iterator[str]:
    """What `Invalid.at` is given for a code, in all of the source."""
    for source in SOURCE.rglob("*.py"):
        for call in ast.walk(ast.parse(source.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Invalid.at":
                given = [*call.args[2:], *(one.value for one in call.keywords if one.arg == "code")]
                yield from (code.value for code in given if isinstance(code, ast.Constant))


def test_every_code_of_a_fault_is_documented() -> None:
    page = (DOCS / "api.md").read_text()
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \|$", page, re.MULTILINE)
    documented = {code for row in rows for code in re.findall(r"`(\w+)`", row)}
    used = {"invalid", *fault_codes(), *_CODES.values()}
    assert used <= documented


def test_every_code_of_the_framework_is_documented() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", (DOCS / "api.md").read_text(), re.MULTILINE)
    for error in (drf.MethodNotAllowed("PUT"), drf.NotAcceptable(), drf.UnsupportedMediaType("text/plain")):
        found = problem_of(error)
        assert (str(found.status), found.code) in rows


def test_every_event_is_documented_with_its_sentence() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \|$", (DOCS / "events.md").read_text(), re.MULTILINE)
    ours = [
        found for found in map(kinds.find, kinds.names()) if found.model.__module__.startswith("reviewhub.")
    ]
    real = {(found.name, found.says, ", ".join(found.model.model_fields)) for found in ours}
    assert {tuple(row) for row in rows} == real
