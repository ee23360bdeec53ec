"""An admin writes the sentence of a tool."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.display.sentence import faults, placeholders
from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text
from reviewhub.tools.kinds import SentenceSet
from reviewhub.tools.models import Tool
from reviewhub.tools.placeholders import unknown_names
from reviewhub.tools.queries import locked_tool


@transaction.atomic
def set_sentence(*, tool: Tool, sentence: str, actor: Actor) -> Tool:
    """Sets what people read first about calls of `tool`, from the next request on.

    Args:
        sentence: a template such as `Refund ${amount:money} to order {order_id}`; empty for the default words.

    Raises:
        Invalid: the template cannot be used; every fault is named.
    """
    sentence = sentence.strip()
    check_text(sentence, path="/sentence")
    if found := faults(sentence):
        errors = [{"path": "/sentence", "code": "invalid", "message": fault} for fault in found]
        raise Invalid(" ".join(found), errors=errors)
    stored = locked_tool(tool)
    still_may(actor, Action.TOOLS_EDIT, Target(workspace_id=stored.workspace_id, agent_id=stored.agent_id))
    if stored.schema:
        _refuse_unknown_names(stored.schema, sentence)
    if stored.sentence == sentence:
        return stored
    data = SentenceSet(tool=stored.name, sentence=sentence, before=stored.sentence)
    stored.sentence = sentence
    stored.save(update_fields=["sentence"])
    record(
        "tool.sentence_set",
        workspace_id=stored.workspace_id,
        actor=actor,
        data=data,
        agent_id=stored.agent_id,
        subject_id=stored.id,
    )
    return stored


def _refuse_unknown_names(schema: str, sentence: str) -> None:
    errors = [
        {"path": "/sentence", "code": "unknown_path", "message": f"Calls of this tool have no “{name}”."}
        for name in unknown_names(schema, placeholders(sentence))
    ]
    if errors:
        raise Invalid(" ".join(error["message"] for error in errors), errors=errors)
