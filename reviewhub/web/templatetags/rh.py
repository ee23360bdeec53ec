"""Template tags of the look: every value they get is data and is escaped here."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from html import escape

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from reviewhub_agents import canonical
from reviewhub_agents.wire import PlanRef

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core import zones
from reviewhub.core.display import durations, moments
from reviewhub.core.display import segments as pieces
from reviewhub.core.display.arguments import Row, text_row
from reviewhub.core.display.segments import Segment
from reviewhub.core.display.sentence import Part, unpack

register = template.Library()

BARS = ((0, 4), (3.8, 7), (7.6, 10), (11.4, 14))
MOST_DOTS = 5
MOST_PIECES = 300  # drawn one by one; a browser needs seconds for tens of thousands
SHORT = 200  # characters of a text that is kept once it was drawn
TONES = {"allow": "ok", "observe": "info", "require": "warn", "deny": "bad"}
VERDICTS = {
    "approve": "approved",
    "edit": "changed and approved",
    "reject": "rejected",
    "respond": "answered in its place",
}


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, label: str = "") -> SafeString:
    """One icon of the sprite; hidden from screen readers unless it stands alone and has a label."""
    if label:
        return format_html('<svg class="i" role="img" aria-label="{}"><use href="#i-{}"/></svg>', label, name)
    return format_html('<svg class="i" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
@lru_cache(maxsize=8)
def risk(level: str) -> SafeString:
    """Risk as bars and a word."""
    bars = format_html_join(
        "",
        '<rect x="{}" y="{}" width="2.6" height="{}" rx="1"/>',
        ((x, 14 - height, height) for x, height in BARS),
    )
    return format_html(
        '<span class="risk risk--{}"><svg viewBox="0 0 14 14" aria-hidden="true">{}</svg>'
        '<span><span class="vh">Risk: </span>{}</span></span>',
        level,
        bars,
        level.capitalize(),
    )


@register.simple_tag
def marks(wrong: Mapping[str, str], *parts: object) -> SafeString:
    """The attributes of a field that is wrong; its id is the parts put together. Nothing for any other."""
    name = "".join(map(str, parts))
    if name not in wrong:
        return SafeString()
    return format_html(' aria-invalid="true" aria-describedby="{}-e"', name)


@register.simple_tag
def fault(wrong: Mapping[str, str], *parts: object) -> SafeString:
    """What is wrong with a field, below it."""
    name = "".join(map(str, parts))
    if name not in wrong:
        return SafeString()
    return format_html('<p class="error" id="{}-e">{}{}</p>', name, icon("warn"), hostile(wrong[name]))


@register.simple_tag
def here(focus: str, *parts: object) -> SafeString:
    """Whether the focus goes to what has this id, put together of the parts."""
    return SafeString(" autofocus" if focus and focus == "".join(map(str, parts)) else "")


@register.filter
def step_words(checkpoint: Checkpoint) -> str:
    """The agent's own count: `step 3`; `start` of the run's first checkpoint; nothing where the agent counts none."""
    if checkpoint.step:
        return f"step {checkpoint.step}"
    return "" if checkpoint.parent_id else "start"


@register.simple_tag
def quorum(got: int, need: int) -> SafeString:
    """How many of the needed approvals are there, as dots and as numbers."""
    dots = format_html_join(
        "",
        '<circle class="{}" cx="{}" cy="5" r="4"/>',
        (("on" if index < got else "", 5 + index * 12) for index in range(min(need, MOST_DOTS))),
    )
    return format_html(
        '<span class="quorum"><svg viewBox="0 0 {} 10" aria-hidden="true">{}</svg>{}/{}'
        '<span class="vh"> approvals</span></span>',
        max(min(need, MOST_DOTS) * 12 - 2, 10),
        dots,
        got,
        need,
    )


@register.simple_tag
def due(deadline: datetime | None, now: datetime, started: datetime) -> SafeString:
    """A deadline: ring, words, and the instant for the countdown in the browser."""
    if deadline is None:
        return mark_safe('<span class="due"><span class="vh">No deadline</span></span>')
    found = durations.due(deadline, now, started)
    around = 2 * math.pi * 6
    ring = format_html(
        '<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6"/>'
        '<circle class="arc" cx="8" cy="8" r="6" stroke-dasharray="{} {}"/></svg><span>{}</span>',
        f"{around * found.share:.1f}",
        f"{around:.1f}",
        found.text,
    )
    more = format_html(
        ' class="due{}" data-due="{}" data-from="{}"',
        f" due--{found.tone}" if found.tone else "",
        stamp(deadline),
        stamp(started),
    )
    return _time(deadline, ring, more)


@register.simple_tag
def avatar(name: str) -> SafeString:
    """A person's letter; the tone follows from the name, so that it is the same everywhere."""
    shown = name.strip()
    tone = "abcd"[zlib.crc32(shown.encode()) % 4]
    return format_html('<span class="av av--{}" aria-hidden="true">{}</span>', tone, shown[:1].upper() or "?")


@register.simple_tag
def ago(at: datetime | None, now: datetime) -> SafeString:
    """How long ago, with the exact time behind it."""
    if at is None:
        return mark_safe('<span class="mute">never</span>')
    return _time(at, durations.ago(zones.here(at), now), format_html(' data-ago="{}"', stamp(at)))


@register.simple_tag
def age(at: datetime, now: datetime) -> SafeString:
    """`11 m old`."""
    words = f"{durations.length((now - at).total_seconds())} old"
    return format_html('<span data-age="{}">{}</span>', int(at.timestamp()), words)


MOMENTS: dict[str, Callable[[datetime], str]] = {
    "exact": moments.exact,
    "minute": moments.minute,
    "clock": moments.clock,
    "short": moments.short,
    "record": moments.iso,
}


@register.simple_tag
def moment(at: datetime | str | None, shown: str = "exact") -> SafeString:
    """A moment as `MOMENTS` write it, in the reader's zone; nothing for None.

    Args:
        at: when, or the text in which the record has it.
        shown: `exact` and `minute` name the zone themselves, the others in their title; `record` is UTC.
    """
    if not at:
        return SafeString()
    found = datetime.fromisoformat(at) if isinstance(at, str) else at
    return _time(found, at if isinstance(at, str) else MOMENTS[shown](found))


def _time(at: datetime, shown: str, more: str = "") -> SafeString:
    """Every time on every page: what is shown, for programs with its offset, for people with the name of its zone."""
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>', moments.iso_here(at), moments.titled(at), more, shown
    )


@register.simple_tag
def reader_zone() -> str:
    """What the zone is called in which the page shows its times."""
    return zones.name_of(zones.current())


@register.filter
def wall(at: datetime) -> str:
    """A moment as a field takes it in which people type one, in the reader's zone."""
    return f"{zones.here(at):%Y-%m-%dT%H:%M}"


@register.filter
def stamp(at: datetime) -> int:
    """Seconds since 1970, for the page's own script."""
    return int(at.timestamp())


@register.filter
def iso(at: datetime) -> str:
    """The server's clock, for the page's own script."""
    return moments.iso(at)


@register.filter
def segments(parts: Iterable[Segment]) -> SafeString:
    """Pieces of a value as markup. Bidi cannot leave its place: every value sits in an isolate."""
    parts = tuple(parts)
    drawn = "".join([_segment(part) for part in parts[:MOST_PIECES]])
    return SafeString(f"<bdi>{drawn}{_written(parts[MOST_PIECES:])}</bdi>")


@register.filter
def hostile(text: object) -> SafeString:
    """Text that an agent or a customer wrote, in pieces."""
    return _drawn(str(text), mask=True)


@register.filter
def as_row(text: str) -> Row:
    """A long text that an agent or a person wrote: its head, and the rest to open."""
    return text_row("", text)


@register.filter
def named(text: object) -> SafeString:
    """A name that somebody chose: hidden characters shown, nothing masked."""
    return _drawn(str(text), mask=False)


def _drawn(text: str, *, mask: bool) -> SafeString:
    return _drawn_once(text, mask) if len(text) <= SHORT else segments(pieces.split(text, mask=mask))


@lru_cache(maxsize=2048)
def _drawn_once(text: str, mask: bool) -> SafeString:
    """A list says the same names of agents, tools and teams in every row."""
    return segments(pieces.split(text, mask=mask))


@register.filter
def sentence(packed: str) -> SafeString:
    """A stored sentence, with the values that matter in bold."""
    return words_of(unpack(packed))


@register.filter
def words_of(parts: Iterable[Part]) -> SafeString:
    """The parts of a sentence, with the values that matter in bold."""
    return SafeString("".join([_part(part) for part in parts]))


def _part(part: Part) -> str:
    if part.strong:
        return f'<b class="num">{segments(part.segments)}</b>'
    # The words between the values end in spaces that are ours, so those are not drawn.
    inside = part.text.strip(" ")
    lead = " " if part.text.startswith(" ") else ""
    tail = " " if inside and part.text.endswith(" ") else ""
    return f"{lead}{_drawn(inside, mask=True)}{tail}"


@register.filter
def tone(action: str) -> str:
    """The colour of what policy says to a call: the same one on every page."""
    return TONES.get(action, "")


@register.filter
def did(verdict: str) -> str:
    """A vote's verdict as what somebody did."""
    return VERDICTS.get(verdict, verdict.replace("_", " "))


@register.filter
def seconds(count: int) -> str:
    """A span of time in words."""
    return durations.length(count)


@register.filter
def plan_ref(text: str) -> PlanRef | None:
    """Where in its plan a checkpoint says it is; None when it says nothing."""
    tree = canonical.parse(text)
    return None if tree is None else PlanRef.from_tree(tree)


@register.filter
def get(given: Mapping[str, object], name: str) -> object:
    """A field of a form whose name is no identifier."""
    return given.get(name, "")


@register.filter
def short_hash(digest: str) -> str:
    """`51ac…9b04` of `sha256:51ac…`."""
    bare = digest.rpartition(":")[2]
    return bare if len(bare) <= 10 else f"{bare[:4]}…{bare[-4:]}"


def _segment(part: Segment) -> str:
    """A piece as markup. Text is nearly all there is, thousands of times on a page."""
    if part.kind == "text":
        return escape(part.text)
    if part.kind == "control":
        return format_html('<span class="ctl" title="{}">{}</span>', part.note, part.text)
    if part.kind == "foreign":
        return format_html(
            '<span class="odd">{}</span><span class="ctl" title="{}">{}</span>',
            part.text,
            part.note,
            pieces.code_point(part.source),
        )
    if part.kind == "secret":
        return format_html(
            '<span class="vh">{}</span><span class="mono" aria-hidden="true">{}</span>', part.note, part.text
        )
    if part.kind == "spaces":
        return _spaces(part)
    return format_html('<span class="addr" title="{}">{}</span>', part.note, part.text)


def _written(parts: tuple[Segment, ...]) -> SafeString:
    """Pieces beyond those that are drawn, as one: what is hidden or looks Latin is written as its code point."""
    if not parts:
        return mark_safe("")
    return format_html(
        '<span class="dense" title="Many special characters: written as their code points">{}</span>',
        pieces.written(parts),
    )


def _spaces(part: Segment) -> SafeString:
    """Few spaces stay spaces (so that a copy is right) and are drawn; many are counted."""
    if part.text == part.note:
        return format_html('<span class="ctl">{}</span>', part.text)
    return format_html('<span class="sp" title="{}">{}</span>', part.note, part.text)
