"""Why a decision on a request, or a verdict on what ran unasked, was not taken."""

from __future__ import annotations

from reviewhub.core.errors import Conflict, Forbidden, Invalid


class Changed(Conflict):
    """The request changed since it was shown; look at it again."""

    code = "changed"


class AlreadyDecided(Conflict):
    """Somebody else decided this request first."""

    code = "already_decided"


class AlreadyLookedAt(Conflict):
    """Somebody else has looked at this already."""

    code = "already_decided"


class NotFlagged(Conflict):
    """Only what is flagged has a follow-up."""

    code = "not_flagged"


class HasFollowUps(Conflict):
    """Something followed this flag, so it stays."""

    code = "has_follow_ups"


class NoVote(Conflict):
    """You have no vote here that counts."""

    code = "no_vote"


class AlreadyVoted(Conflict):
    """You have said so already; a vote counts once."""

    code = "already_voted"


class RunErased(Conflict):
    """What this run held was erased; nothing is added to it any more."""

    code = "run_erased"


class NotYours(Conflict):
    """Somebody else has claimed this request."""

    code = "not_yours"


class Expired(Conflict):
    """The deadline of this request has passed."""

    code = "expired"


class NotEligible(Forbidden):
    """You may not vote on this request."""


class NotAllowedHere(Invalid):
    """This kind of decision is not allowed for this request."""


class DeniedByNow(Conflict):
    """Policy denies this call by now; no approval of it is taken."""

    code = "policy_changed"


class DeniedByPolicy(Invalid):
    """Policy denies the call with these arguments; the request is unchanged."""

    code = "denied_by_policy"
