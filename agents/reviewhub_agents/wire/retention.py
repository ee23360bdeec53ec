"""Retention, for people: the rules in force, what they would take, what keeps a run; erasing a person's runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Wire
from .checkpoints import RemovedOut
from .fields import Count, Id, Int, Label, Name, Positive, Said, Text, Time, Title
from .people import KeptOut

Size = Annotated[Int, Field(ge=0, le=2**63 - 1)]


class RuleOut(Wire):
    """A rule of the workspace, without the limits that are not set. `agent` and `run_class` narrow what it is about."""

    agent: Name | None = None
    run_class: Label = ""
    keep_last: Count | None = None
    max_age_days: Count | None = None
    thin_days: Count | None = None
    decided_days: Count | None = None
    delete_days: Count | None = None
    says: Text
    version: Positive
    by: Label
    since: Time


class RuleNamed(Wire):
    """Which rule: that of an agent (by its name) or of all, for a class of runs or for all (""). `base` is its version.

    0 is the version of a rule that is not there yet.
    """

    agent: Name | None = None
    run_class: Label = ""
    base: Count


class RuleBody(RuleNamed):
    """`PUT /retention/rules`: how long is kept. A limit that is not given is none; without any, all is kept."""

    keep_last: Positive | None = None
    max_age_days: Count | None = None
    thin_days: Count | None = None
    decided_days: Count | None = None
    delete_days: Count | None = None


class HeldRun(Wire):
    """A run of which nothing is removed."""

    run: Id
    title: Title = ""
    hold: KeptOut


class FailingOut(Wire):
    """A run at which the looks fail, since when and when last; nothing more of it is removed until one succeeds."""

    run: Id
    title: Title = ""
    problem: Text
    since: Time
    at: Time


class RetentionOut(Wire):
    """`GET /retention`: what is in force. `default` holds where no rule is."""

    default: Text
    rules: list[RuleOut]
    held: list[HeldRun]
    failing: list[FailingOut]


class TierBytes(Wire):
    """Bytes that lie in one place: the database, or a blob store."""

    tier: Label
    bytes: Size


class GoesOut(Wire):
    """What would go: rows, bytes by tier, and what keeping it costs a month by STORAGE_PRICES, as decimal text."""

    checkpoints: Count
    blobs: Count
    tiers: list[TierBytes]
    cost: Label


class RunGoes(Wire):
    """What would go of one run."""

    run: Id
    title: Title = ""
    goes: GoesOut


class DryRunOut(Wire):
    """`GET /retention/dry-run`: the runs of this page that would lose something, the oldest first, and their sum.

    `looked_at` runs were looked at for it; `next` is the cursor of the following page.
    """

    runs: list[RunGoes]
    goes: GoesOut
    looked_at: Count
    next: str | None = None


class PinOut(Wire):
    """A checkpoint that somebody pinned."""

    checkpoint: Id
    branch: Name
    number: Positive
    pin: KeptOut


class RunRetentionOut(Wire):
    """`GET /runs/{run}/retention`: what is in force for a run, what it would lose now, and what became of it so far."""

    run: Id
    says: Text
    goes: GoesOut
    hold: KeptOut | None = None
    pins: list[PinOut]
    removed: list[RemovedOut]
    seen_at: Time | None = None
    failing: FailingOut | None = None
    erased_at: Time | None = None


class EraseBody(Wire):
    """`POST /retention/erase`: whose runs, exactly as they have it, and why; the reason is kept for ever."""

    on_behalf_of: Annotated[Label, Field(min_length=1)]
    reason: Said


class EraseOut(Wire):
    """How many runs were erased."""

    runs: Count
