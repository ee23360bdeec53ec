"""Where time went: the strip of the run page, and the page of an agent with advice on how often to save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, MemberCaller, scope_of
from reviewhub.core.display.shares import percent
from reviewhub.hosting.goodput.advisor import Choice
from reviewhub.hosting.goodput.counsel import Counsel, counsel
from reviewhub.hosting.goodput.queries import (
    Goodput,
    goodput_of_agent,
    goodput_of_run,
    spared_from_zero,
)
from reviewhub.hosting.goodput.rules import Spent
from reviewhub.reviews.queries import runs_visible
from reviewhub.runs.models import Run
from reviewhub.web.access import page
from reviewhub.web.agents import find
from reviewhub.web.progress import DAYS, SHORT, long
from reviewhub.web.render import show

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

RUNS = 15
WIDTH = 200.0
# By kind: the colour of its part, and what it is called. Waiting is no worker's time and has no part.
WORDS: dict[str, tuple[str, StrOrPromise]] = {
    "useful": ("f5", _("useful")),
    "replay": ("f2", _("replay")),
    "recovery": ("f4", _("recovery and loading")),
    "checkpoints": ("f6", _("checkpoints")),
    "queue": ("f0", _("in the queue, not counted")),
    "people": ("f0", _("waited for people, not counted")),
}
COUNTED = ("useful", "replay", "recovery", "checkpoints")


@dataclass(frozen=True)
class Part:
    """One kind of time in the legend."""

    tone: str
    name: StrOrPromise
    time: str


@dataclass(frozen=True)
class Strip:
    """Forward progress as a bar with its legend. `spared`: what a restart from zero at each loss would have redone.

    too_short: how much time there was, when a share of it says nothing: loading and saving take as long however little
    is done in between. Empty otherwise.
    """

    found: Goodput
    progress: str
    too_short: str
    bar: SafeString
    parts: list[Part]
    latency: str
    longest: str
    spared: Spent
    spared_time: str


@dataclass(frozen=True)
class Line:
    """One way to save, in the advisor's table."""

    name: StrOrPromise
    interval: str
    cost: str
    redone: str


def strip_of_run(run: Run) -> Strip | None:
    """The strip of a run page; None for an agent that runs elsewhere, whose work nobody here measures."""
    found = goodput_of_run(run)
    return _strip(found, spared_from_zero(run) if found.losses else Spent()) if found.shifts else None


@require_safe
@page(Action.AGENTS_READ, of=find)
def agent_goodput(request: HttpRequest, caller: MemberCaller, agent: Agent) -> HttpResponse:
    """Where the time of an agent went in the last days, its newest runs, and how often it should save."""
    found = goodput_of_agent(agent, days=DAYS)
    newest = runs_visible(scope_of(caller)).filter(agent=agent).order_by("-created_at", "-id")[:RUNS]
    advice = counsel(found)
    context = {
        "agent": agent,
        "days": DAYS,
        "strip": _strip(found, Spent()) if found.shifts else None,
        "runs": [(row, strip) for row in newest if (strip := strip_of_run(row)) is not None],
        "advice": advice,
        "lines": _lines(advice) if advice else [],
        "times": _times(advice) if advice else {},
    }
    return show(request, caller, "web/agent_goodput.html", context, nav="agents")


def _strip(found: Goodput, spared: Spent) -> Strip:
    progress = percent(found.spent.progress)
    times = dict(found.parts)
    counted = sum(times[name] for name in COUNTED)
    return Strip(
        found=found,
        progress=progress,
        too_short=long(counted) if counted < SHORT else "",
        bar=_bar(times, "" if counted < SHORT else progress, found),
        parts=[Part(_tone(name, found), WORDS[name][1], long(seconds)) for name, seconds in times.items()],
        latency=long(found.latency) if found.latency is not None else "",
        longest=long(found.longest) if found.longest is not None else "",
        spared=spared,
        spared_time=long(max(spared.replay - found.spent.replay, 0.0)),
    )


def _tone(name: str, found: Goodput) -> str:
    """The colour of a kind of time. Recovery is red only where work was lost: else it is the loading of states."""
    return "f3" if name == "recovery" and not found.losses else WORDS[name][0]


def _bar(times: dict[str, float], progress: str, found: Goodput) -> SafeString:
    whole = sum(times[name] for name in COUNTED) or 1.0
    parts, left = [], 0.0
    for name in COUNTED:
        wide = WIDTH * times[name] / whole
        parts.append((_tone(name, found), f"{left:.2f}", f"{wide:.2f}"))
        left += wide
    said = ", ".join(f"{WORDS[name][1]} {long(times[name])}" for name in COUNTED)
    return format_html(
        '<svg class="hbar" viewBox="0 0 {} 8" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        WIDTH,
        f"{progress}: {said}" if progress else said,
        format_html_join("", '<rect class="{}" x="{}" width="{}" height="8"/>', parts),
    )


def _lines(found: Counsel) -> list[Line]:
    advice = found.advice
    lines = [_line(_("As it is now"), advice.now)]
    if advice.best.steps != advice.now.steps:
        lines.append(_line(_("Best on its boundaries"), advice.best))
    return lines


def _times(found: Counsel) -> dict[str, str]:
    return {name: long(getattr(found.advice, name)) for name in ("save", "mtbf", "young", "daly")}


def _line(name: StrOrPromise, choice: Choice) -> Line:
    return Line(name, long(choice.interval), f"{choice.cost * 100:.2f}%", long(choice.redone))
