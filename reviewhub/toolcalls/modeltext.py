"""What to tell the model about the answer to its tool call: pure text.

Every outcome says whether the call runs, who answered (a person, policy, nobody in time, the system), why, and
what not to do next. People's words are repeated exactly. A model that is told too little asks for the same thing again.
"""

from __future__ import annotations

from collections.abc import Sequence

DO_NOT_REPEAT = "Do not ask for the same call again"


def model_text(
    *,
    type: str,
    tool: str,
    by_kind: str,
    by_names: Sequence[str],
    message: str,
    arguments: str,
    original: str,
    edited_by: str = "",
    value: str | None = None,
    allowed: bool = False,
    has_votes: bool = False,
) -> str:
    """The text for one decision.

    Args:
        type: the decision's type.
        by_kind, by_names: who decided; several people where several approvals were needed.
        message: their words for the model, as they wrote them.
        arguments, original: JSON texts of the version decided on and of the first one.
        edited_by: who made the version decided on, where a person did; others may have approved it.
        value: JSON text of a `respond` or `happened`.
        allowed: whether the call may run; only `expire` needs it.
        has_votes: whether somebody approved before the deadline, and not enough did; only `expire` needs it.
    """
    others = [name for name in by_names if name != edited_by]
    if type == "edit" and edited_by and others:
        approved = _inside(_who(by_kind, others))
        head = f"The reviewer {edited_by} changed the arguments of {tool}, and {approved} approved the changed call."
    else:
        head = _head(
            type, tool, _who(by_kind, by_names), value, allowed, has_votes, whom=_whom(by_kind, by_names)
        )
    if type == "expire" and allowed and edited_by:
        head = f"{head}\nThe reviewer {edited_by} changed its arguments before."
    runs = allowed if type == "expire" else type in ("approve", "edit", "happened", "did_not_happen")
    edited = runs and original != arguments
    return "\n".join(
        part
        for part in (head, _edited(arguments, original) if edited else "", _said(message, by_kind))
        if part
    )


def _head(
    type_: str, tool: str, who: str, value: str | None, allowed: bool, has_votes: bool, *, whom: str
) -> str:
    texts = {
        "approve": f"{who} approved the call of {tool}. It runs exactly as approved.",
        "edit": f"{who} changed the arguments of {tool} and approved the changed call.",
        "reject": f"{who} rejected the call of {tool}. It was not executed. This is a human decision."
        f" {DO_NOT_REPEAT} unchanged.",
        "deny": f"Policy denied the call of {tool}. It was not executed, and no person was asked."
        f" {DO_NOT_REPEAT}.",
        "respond": f"{who} did not run {tool} but answered instead: {value}\nThe call was not executed.",
        "withdraw": f"The call of {tool} was withdrawn by {whom} before it was decided. It was not executed.",
        "cancel": f"The call of {tool} was cancelled by {whom}: its run ended. It was not executed.",
        "skip": f"Nobody knows whether {tool} happened; {who} decided to go on without it. {DO_NOT_REPEAT}.",
        "happened": f"{who} confirmed that {tool} did happen. Result: {value or 'null'}\n{DO_NOT_REPEAT}.",
        "did_not_happen": f"{who} confirmed that {tool} did not happen; it may run now, once.",
    }
    if type_ != "expire":
        return texts[type_]
    silence = f"{'Not enough people' if has_votes else 'Nobody'} reviewed the call of {tool} in time."
    if allowed:
        return f"{silence} The rule says that it may run then."
    return f"{silence} It was not executed; no person decided against it."


def _who(kind: str, names: Sequence[str]) -> str:
    if kind == "person" and len(names) > 1:
        return f"The reviewers {', '.join(names[:-1])} and {names[-1]}"
    name = names[0]
    return {
        "person": f"The reviewer {name}" if name else "A reviewer",
        "policy": f"The {name}" if name else "Policy",
        "timeout": "The deadline",
        "agent": f"The agent {name}" if name else "The agent",
    }.get(kind, "The system")


def _whom(kind: str, names: Sequence[str]) -> str:
    """Who ended it, inside of a sentence. That needs nobody's vote: whoever did it need not be a reviewer."""
    if kind == "person":
        return " and ".join(name for name in names if name) or "a person"
    return _inside(_who(kind, names))


def _inside(who: str) -> str:
    """The same inside of a sentence."""
    return f"{who[0].lower()}{who[1:]}"


def _edited(arguments: str, original: str) -> str:
    return (
        f"Executed arguments: {arguments}\nYour arguments were: {original}\n"
        "The reviewer's version counts. Do not issue the original call."
    )


def _said(message: str, by_kind: str) -> str:
    if not message:
        return ""
    return f"Reason: {message}" if by_kind in ("policy", "system", "agent") else f"Their words: {message}"
