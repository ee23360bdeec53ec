"""At each pause the draft in shadow is asked, too. Whatever goes wrong in it, the pause is committed already."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import transaction

from reviewhub.accounts.models import Agent
from reviewhub.policies.evaluate import CallFacts
from reviewhub.policies.shadow import shadow as ask_shadow
from reviewhub.toolcalls.models import Pause, ShadowAnswer, ToolCall

log = logging.getLogger(__name__)


def shadow(*, pause: Pause, agent: Agent, environment: str, calls: Sequence[CallFacts]) -> None:
    """Writes down what the draft in shadow would have done otherwise with the calls of a pause. Never raises."""
    try:
        said = ask_shadow(workspace_id=pause.workspace_id, agent=agent, environment=environment, calls=calls)
        if said is None or not said.found:
            return
        rows = list(ToolCall.objects.filter(pause=pause).order_by("position").values_list("pk", flat=True))
        with transaction.atomic():
            ShadowAnswer.objects.bulk_create(
                [
                    ShadowAnswer(
                        draft_id=said.draft_id,
                        tool_call_id=rows[one.at],
                        change=one.change,
                        rule=one.rule,
                        asks=one.asks,
                    )
                    for one in said.found
                ]
            )
    except Exception:
        log.exception("the draft in shadow could not be asked about pause %s", pause.pk)
