"""Policy as people read and write it: versions, the draft, backtests, suggestions, and who votes for whom."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Wire
from .fields import Count, Id, JsonObject, Name, Positive, Text, Time, Title

State = Annotated[str, Field(pattern="^[a-z]+$", max_length=20)]


class PolicyOut(Wire):
    """One published version, with its text; 0 and an empty one before the first."""

    number: Count
    policy: JsonObject
    note: Text = ""
    author: Title = ""
    published_at: Time | None = None
    restores: Positive | None = None


class PolicyVersionOut(Wire):
    """One published version, without its text."""

    number: Positive
    note: Text
    author: Title
    published_at: Time
    restores: Positive | None = None


class PolicyVersionList(Wire):
    """`GET /policy/versions`, the newest first."""

    items: list[PolicyVersionOut]
    next: str | None = None


class PublishBody(Wire):
    """A policy for `POST /policy/publish`. `base`: the number of the version that it is made from."""

    policy: JsonObject
    note: Text
    base: Count


class CheckPolicyBody(Wire):
    """A policy for `POST /policy/check`."""

    policy: JsonObject


class CautionOut(Wire):
    """What is legal and probably not meant. `position` counts from 1 in its `layer`."""

    layer: Name
    position: Positive
    rule: Name
    code: Name
    message: Text


class PolicyChangeOut(Wire):
    """What became of one rule: `added`, `removed`, `changed` (in these fields) or `moved`."""

    kind: State
    layer: Name
    rule: Name
    fields: list[Name] = []


class FreedOut(Wire):
    """A tool that becomes known by publishing, and what the answer to its calls changes to."""

    agent: Name
    tool: Name
    says: Text


class CheckPolicyOut(Wire):
    """A policy that could be published: what it changes against the one in force, what to look at before, and which
    tools it frees that nobody looked at so far."""

    changes: list[PolicyChangeOut]
    cautions: list[CautionOut]
    frees: list[FreedOut] = []


class RollBackBody(Wire):
    """For `POST /policy/roll-back`: `number` is published again, on top of `base`."""

    number: Positive
    note: Text
    base: Count


class DraftBody(Wire):
    """A policy for `PUT /policy/draft`. `replaces`: the draft that the author started from; `base`: the version."""

    policy: JsonObject
    note: Text = ""
    replaces: Id | None = None
    base: Count | None = None


class CountOut(Wire):
    """How many calls the draft would treat in one way."""

    change: State
    calls: Count


class UndecidedOut(Wire):
    """Which rules of the draft could not be decided, and why, in words, and on how many calls."""

    says: str
    calls: Count


class DraftOut(Wire):
    """The draft of a workspace. `in_shadow` counts what it would have done otherwise since it is, or while it was, in
    shadow (`shadow_since`), out of `shadow_calls`; `shadow_undecided` names the rules that could not be decided."""

    id: Id
    state: State
    base: Count
    policy: JsonObject
    note: Text
    author: Title
    created_at: Time
    shadow_since: Time | None = None
    shadow_calls: Count | None = None
    in_shadow: list[CountOut] = []
    shadow_undecided: list[UndecidedOut] = []
    changes: list[PolicyChangeOut]
    cautions: list[CautionOut]
    frees: list[FreedOut] = []


class ShadowBody(Wire):
    """Puts a draft in shadow, or takes it out."""

    draft: Id
    on: bool


class WhichDraftBody(Wire):
    """The draft that is meant: another one may be there by now."""

    draft: Id


class PublishDraftBody(Wire):
    """For `POST /policy/draft/publish`. `on_top`: it replaces a version that is newer than the one it is made from."""

    draft: Id
    note: Text
    base: Count
    on_top: bool = False


class BacktestBody(Wire):
    """A backtest of the draft against the calls of the last `days` days."""

    draft: Id
    days: Positive


class TeamLoadOut(Wire):
    """Approvals a day that are asked of a team, now and by the draft, and what that means in minutes a day."""

    team: Name
    now: float
    then: float
    extra_minutes: float


class BacktestGroupOut(Wire):
    """The calls under one heading, and the newest of them."""

    change: State
    calls: Count
    tool_calls: list[Id]


class BacktestOut(Wire):
    """A backtest, as far as it is: `looked_at` of `total` calls. On `undecided` of them a rule of the draft could not
    be decided, so they wait; `undecided_rules` are the most frequent."""

    id: Id
    draft: Id
    state: State
    against: Count
    days: Positive
    total: Count
    looked_at: Count
    waits_now: Count
    waits_then: Count
    groups: list[BacktestGroupOut]
    undecided: Count = 0
    undecided_rules: list[UndecidedOut] = []
    teams: list[TeamLoadOut]
    by: Title
    created_at: Time
    ended_at: Time | None = None


class SuggestionOut(Wire):
    """A rule that history suggests: `approved` calls, and no other answer, within its conditions."""

    key: Name
    approved: Count
    rule: JsonObject


class SuggestionList(Wire):
    """`GET /policy/suggestions`, the busiest first."""

    days: Positive
    items: list[SuggestionOut]


class TakeUpBody(Wire):
    """Which suggestion becomes a rule of the draft."""

    key: Name


class StandInBody(Wire):
    """Who votes in one's place, by e-mail address, from when until when."""

    to: Name
    starts_at: Time
    ends_at: Time


class StandInOut(Wire):
    """Somebody votes in another one's place."""

    id: Id
    member: Title
    to: Title
    starts_at: Time
    ends_at: Time
    ended_at: Time | None = None


class StandInList(Wire):
    """`GET /stand-ins`: one's own, and those for whom one stands in; the latest first."""

    items: list[StandInOut]
