"""An admin presets the reasons for rejections."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Workspace
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text
from reviewhub.reviews.assurance import check_words
from reviewhub.reviews.kinds import ReasonsSet
from reviewhub.reviews.models import RejectReason
from reviewhub.reviews.reasons import reasons_of

MOST = 20
NAME_CHARACTERS = 80


@transaction.atomic
def set_reasons(*, workspace: Workspace, reasons: Mapping[str, str], actor: Actor) -> None:
    """Puts these in the place of all there were; votes that named one keep its name and words.

    Args:
        reasons: name → what the agent is told, in the order in which they are offered.

    Raises:
        Invalid: there are too many, a name is too long or empty, or a text says nothing.
    """
    _check(reasons)
    stored = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    still_may(actor, Action.POLICY_EDIT, Target(workspace_id=stored.pk))
    before = {one.name: one.text for one in reasons_of(stored.pk)}
    if list(before.items()) == list(reasons.items()):
        return
    RejectReason.objects.filter(workspace=stored).delete()
    RejectReason.objects.bulk_create(
        RejectReason(workspace=stored, place=place, name=name, text=text)
        for place, (name, text) in enumerate(reasons.items())
    )
    record(
        "reasons.set",
        workspace_id=stored.pk,
        actor=actor,
        data=ReasonsSet(reasons=dict(reasons), before=before),
    )


def _check(reasons: Mapping[str, str]) -> None:
    if len(reasons) > MOST:
        raise Invalid.at("/reasons", f"There are {len(reasons)} reasons; the limit is {MOST}.", "too_long")
    for name, text in reasons.items():
        check_text(name, path="/reasons")
        check_text(text, path="/reasons")
        if not 0 < len(name) <= NAME_CHARACTERS:
            raise Invalid.at("/reasons", f"A name has 1 to {NAME_CHARACTERS} characters: “{name[:80]}”.")
        try:
            check_words("reject", text)
        except Invalid as error:
            said = f"“{name}” says nothing to the agent. {error.errors[0]['message']}"
            raise Invalid.at("/reasons", said, "missing") from error
