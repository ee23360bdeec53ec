"""Who judges what an agent asks for and what came of it, from outside of its steps: functions, and other models."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .models import Message, Model
from .store import Plan

Judges = Literal["proposal", "result"]
Status = Literal["passed", "failed", "error", "timed_out"]
MAX_DETAIL = 2000
MAX_NAME = 80


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a verifier is shown: the call, its result (of a proposal None), and the plan in force."""

    tool: str
    arguments: Any
    result: Any = None
    plan: Plan | None = None


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What a verifier thinks. `contradicts` is the id of an assumption of the plan that does not hold."""

    passed: bool
    detail: str = ""
    contradicts: str = ""


Judge = Callable[[Judged], Opinion]


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """A declared one: what it is called, which names it judges (a glob), and how long it may take."""

    name: str
    of: str
    judges: Judges
    judge: Judge
    source: Literal["function", "model"] = "function"
    seconds: float = 30.0

    def is_about(self, tool: str) -> bool:
        """Whether it judges calls of this name."""
        return fnmatch.fnmatchcase(tool, self.of)


@dataclass(frozen=True, kw_only=True)
class Came:
    """How a verdict came out. Only `passed` is a yes: a verifier that fails or takes too long has judged nothing."""

    name: str
    source: str
    judges: str
    status: Status
    detail: str = ""
    contradicts: str = ""


def ask(verifier: Verifier, judged: Judged) -> Came:
    """The verdict, never an error. Who is not done in time is left behind in its thread."""
    said: list[Came] = []

    def run() -> None:
        said.append(_said(verifier, judged))

    thread = threading.Thread(target=run, name=f"verify-{verifier.name}", daemon=True)
    thread.start()
    thread.join(verifier.seconds)
    return said[0] if said else _came(verifier, "timed_out", f"not done in {verifier.seconds:g} s")


def _said(verifier: Verifier, judged: Judged) -> Came:
    try:
        opinion = verifier.judge(judged)
        if not isinstance(opinion, Opinion):
            raise TypeError(f"an Opinion was expected, not {type(opinion).__name__}")
    except Exception as error:  # noqa: BLE001  whatever it is, it was no verdict
        return _came(verifier, "error", f"{type(error).__name__}: {error}")
    status: Status = "passed" if opinion.passed is True else "failed"
    return _came(verifier, status, opinion.detail, opinion.contradicts)


def _came(verifier: Verifier, status: Status, detail: str, contradicts: str = "") -> Came:
    return Came(
        name=verifier.name,
        source=verifier.source,
        judges=verifier.judges,
        status=status,
        detail=detail[:MAX_DETAIL],
        contradicts=contradicts[:100],
    )


def by_model(model: Model, question: Callable[[Judged], list[Message]]) -> Judge:
    """A verifier that asks another model. Its answer begins with `yes` or `no`; anything else is no verdict.

    Args:
        question: makes the conversation that it is asked with.
    """

    def judge(judged: Judged) -> Opinion:
        said = str(model.complete(question(judged))["content"]).strip()
        word = said.split(maxsplit=1)[0].strip(".,:;!").casefold() if said else ""
        if word not in ("yes", "no"):
            raise ValueError(f"it says neither yes nor no: {said[:200]}")
        return Opinion(passed=word == "yes", detail=said)

    return judge
