"""What is no tool and is gated like one: its names begin with `rh.`, and are the server's own. Pure."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from reviewhub_agents import canonical

PREFIX = "rh."
PLAN = "rh.plan"
FINISH = "rh.finish"
ASK = "rh.ask"
STEP = "rh.step/"
GATE = "rh.gate/"
VERDICT = "rh.verdict/"


@dataclass(frozen=True, kw_only=True)
class Act:
    """One of them. `sentence` is its template, `decisions` are those that make sense.

    `implied`: an agent does it anyway, and nobody has to be asked unless a rule says so.
    """

    effect: str
    decisions: tuple[str, ...]
    sentence: str = ""
    implied: bool = False


_YES_OR_NO = ("approve", "reject")
_BY_NAME = {
    PLAN: Act(
        effect="idempotent",
        decisions=("approve", "edit", "reject"),
        sentence="Approve plan v{version}: {steps:count} steps",
        implied=True,
    ),
    FINISH: Act(
        effect="idempotent",
        decisions=_YES_OR_NO,
        sentence="End the run with {open_steps:count} open steps of its plan",
        implied=True,
    ),
    ASK: Act(effect="read", decisions=("respond", "reject"), sentence="{question}"),
}
_BY_BEGINNING = {
    STEP: Act(effect="read", decisions=_YES_OR_NO, sentence="Enter step {node}", implied=True),
    GATE: Act(effect="read", decisions=("approve", "edit", "reject", "respond")),
    # Never asked for: rules about it say what a verifier's verdict counts for.
    VERDICT: Act(effect="read", decisions=_YES_OR_NO, implied=True),
}


def act_of(name: str) -> Act | None:
    """The act of this name, compared code point by code point; None for a tool."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    for beginning, act in _BY_BEGINNING.items():
        if name.startswith(beginning) and len(name) > len(beginning):
            return act
    return None


def reads_like_an_act(name: str) -> bool:
    """Whether people take a name for one that the server keeps for itself."""
    shown = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", shown).casefold().strip().startswith(PREFIX)


def reaches(pattern: str, name: str, *, lets_run: bool) -> bool:
    """Whether a rule for `pattern` may be about an act at all: one for `*` means tools.

    What an agent's code asks of people by itself (`rh.ask`, `rh.gate/…`) is also held or denied by a rule for `*`.
    """
    act = act_of(name)
    if name.startswith(VERDICT):
        # A rule for all of `rh.` means what is asked for.
        return pattern.casefold().startswith(VERDICT)
    if act is None or pattern.casefold().startswith(PREFIX):
        return True
    return not (act.implied or lets_run)


def needs_nobody(name: str, arguments: canonical.Tree) -> bool:
    """Whether an act that no rule is about is simply done. The end of a run is, unless its plan has open steps."""
    act = act_of(name)
    if act is None or not act.implied:
        return False
    return name != FINISH or (isinstance(arguments, dict) and arguments.get("open_steps") == [])
