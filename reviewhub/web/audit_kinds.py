"""What the kinds of events are called on pages: most by their name in words, some by what people say."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noted

_SAID: Final = {
    "audit.erased": noted("Words of entries erased"),
    "audit.exported": noted("Record exported, signed"),
    "audit.key_rotated": noted("Signing key replaced"),
    "audit.listed": noted("Record exported, plain"),
    "audit.read": noted("Record looked at"),
    "audit.set_back": noted("Record set back"),
    "agent.validation_set": noted("Checking of states set"),
    "branch.awaiting": noted("Branch waits for runs"),
    "branch.sleeping": noted("Branch sleeps"),
    "branch.superseded": noted("Run rewritten"),
    "budget.removed": noted("Budget of states removed"),
    "budget.set": noted("Budget of states set"),
    "call.asked_again": noted("Call asked about again"),
    "call.late_outcome": noted("Outcome came late"),
    "call.observed": noted("Call ran without waiting"),
    "call.unknown": noted("Outcome unknown"),
    "checkpoint.corrupt": noted("Checkpoint damaged"),
    "key.made": noted("Agent key made"),
    "key.revoked": noted("Agent key revoked"),
    "key.rotated": noted("Agent key replaced"),
    "member.password_made": noted("One-time password made"),
    "person.exported": noted("Data of a person exported"),
    "person.password_refused": noted("Password change refused"),
    "person.sign_in_failed": noted("Sign-in failed"),
    "plan.asked": noted("Another plan asked for"),
    "policy.shadow_started": noted("Draft put in shadow"),
    "policy.shadow_stopped": noted("Draft out of shadow"),
    "policy.undecided": noted("Policy could not decide"),
    "post_review.drawn": noted("Drawn for post-review"),
    "post_review.follow_up_closed": noted("Follow-up closed"),
    "post_review.followed_up": noted("Flag followed up"),
    "post_review.graded": noted("Looked at afterwards"),
    "post_review.reopened": noted("Later verdict taken back"),
    "reasons.set": noted("Reasons to reject set"),
    "request.turn": noted("Next team asked"),
    "retention.rule_removed": noted("Retention rule removed"),
    "retention.rule_set": noted("Retention rule set"),
    "run.drill_failed": noted("Run failed a drill"),
    "run.held": noted("Run put under hold"),
    "run.prune_failed": noted("Retention failed"),
    "run.pruned": noted("Retention removed some"),
    "run.quarantined": noted("Run set aside"),
    "run.released": noted("Hold of a run lifted"),
    "secret.revealed": noted("Hidden values shown"),
    "standing.made": noted("Standing approval made"),
    "standing.revoked": noted("Standing approval revoked"),
    "standing.used": noted("Standing approval used"),
    "state.registered": noted("Kind of state registered"),
    "votes.delegated": noted("Voting passed on"),
    "votes.taken_back": noted("Voting taken back"),
}


def kind_words(name: str) -> str:
    """What a kind is called, short; one that nobody named is called by its name without dots."""
    said = _SAID.get(name)
    return gettext(said) if said else name.replace(".", " ").replace("_", " ").capitalize()


def named(names: list[str]) -> list[tuple[str, str]]:
    """Kinds and what they are called, in the order of the words."""
    return sorted(((name, kind_words(name)) for name in names), key=lambda pair: pair[1].casefold())
