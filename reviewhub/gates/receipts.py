"""Receipts: what was decided about a tool call and how it ended, signed for whoever owns the tool.

Made from rows that never change any more and signed when they are asked for. Ed25519 gives the same signature each
time, so nothing is stored. `reviewhub_agents.receipts` checks them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q
from reviewhub_agents import canonical, wire
from reviewhub_agents.receipts import DECISION, EXECUTION, PAYLOAD_TYPE, STATEMENT_TYPE, pae

from reviewhub.audit import keys
from reviewhub.audit.models import Event
from reviewhub.checkpoints.queries import hash_of
from reviewhub.reviews.models import Review
from reviewhub.toolcalls.models import CallVersion, Decision, Grant, ToolCall
from reviewhub.toolcalls.states import CallState

ENDED = (CallState.SUCCEEDED, CallState.FAILED)


def receipts_of(call: ToolCall) -> list[wire.ReceiptOut]:
    """One receipt for each decision about a call, the oldest first, and one for its end when it ran.

    Raises:
        KeyMissing: the key is not there.
    """
    key = keys.newest().public
    made = [
        wire.ReceiptOut(kind="decision", envelope=_envelope(key, DECISION, call, decision.digest, facts))
        for decision in call.decisions.order_by("decided_at", "id")
        for facts in [_decided(call, decision)]
    ]
    if call.state in ENDED and call.attempt:
        ended = _envelope(key, EXECUTION, call, call.digest, _ended(call))
        made.append(wire.ReceiptOut(kind="execution", envelope=ended))
    return made


def _envelope(key: str, kind: str, call: ToolCall, digest: str, facts: Mapping[str, Any]) -> wire.EnvelopeOut:
    statement = {
        "_type": STATEMENT_TYPE,
        "predicate": {**_about(call), **facts},
        "predicateType": kind,
        "subject": [{"digest": {"sha256": digest.removeprefix("sha256:")}, "name": str(call.pk)}],
    }
    payload = canonical.dumps(statement).encode()
    signature = keys.sign(key, pae(PAYLOAD_TYPE, payload))
    return wire.EnvelopeOut(
        payload=base64.b64encode(payload).decode(),
        payloadType=PAYLOAD_TYPE,
        signatures=[wire.SignatureOut(keyid=keys.short(key), sig=base64.b64encode(signature).decode())],
    )


def _about(call: ToolCall) -> dict[str, Any]:
    """What both kinds say of the call."""
    return {
        "agent": str(call.agent_id),
        "call": str(call.pk),
        "checkpoint": hash_of(call.checkpoint_id),
        "run": str(call.run_id),
        "tool": call.tool_name,
        "workspace": str(call.workspace_id),
    }


def _decided(call: ToolCall, decision: Decision) -> dict[str, Any]:
    return {
        "allows": Grant.objects.filter(decision=decision).exists(),
        "by": {
            "id": str(decision.by_id) if decision.by_id else None,
            "kind": decision.by_kind,
            "name": decision.by_name,
        },
        "decided_at": _time(decision.decided_at),
        "decision": str(decision.pk),
        "displayed": _displayed(decision),
        "edited_by": _editor(decision),
        "policy_version": decision.policy_version,
        "request": str(decision.request_id) if decision.request_id else None,
        "reviewers": [_voted(review) for review in _reviews(decision)],
        "type": decision.type,
        "version": decision.version,
    }


def _editor(decision: Decision) -> dict[str, Any] | None:
    """Who made the version that was decided on; None for the agent, which proposed the first."""
    made = CallVersion.objects.filter(tool_call_id=decision.tool_call_id, version=decision.version)
    for version in made.filter(author_kind="person"):
        return {"id": str(version.author_id), "name": version.author_name, "version": version.version}
    return None


def _reviews(decision: Decision) -> list[Review]:
    """The votes that counted when it was decided."""
    if decision.request_id is None:
        return []
    counted = Q(voided_at__isnull=True) | Q(voided_at__gt=decision.decided_at)
    rows = Review.objects.filter(counted, request_id=decision.request_id, created_at__lte=decision.decided_at)
    return list(rows.order_by("created_at", "id"))


def _voted(review: Review) -> dict[str, Any]:
    return {
        "at": _time(review.created_at),
        "digest": review.digest,
        "id": str(review.member_id),
        "name": review.name,
        "verdict": review.verdict,
        "version": review.version,
    }


def _ended(call: ToolCall) -> dict[str, Any]:
    last = call.attempts.select_related("grant").order_by("-number").first()
    return {
        "attempt": call.attempt,
        "decision": str(last.grant.decision_id) if last else None,
        "ended_at": _time(call.ended_at) if call.ended_at else None,
        "outcome": call.outcome_digest or None,
        "started_at": _time(last.started_at) if last else None,
        "status": call.state,
    }


def _displayed(decision: Decision) -> str | None:
    """The digest that the record has of what people were shown; None without a request, or when it was erased."""
    if decision.request_id is None:
        return None
    rows = Event.objects.filter(kind="request.decided", request_id=decision.request_id)
    body = rows.values_list("payload__body", flat=True).first()
    said = canonical.reread(body) if body else None
    data = said.get("data") if isinstance(said, dict) else None
    found = data.get("displayed") if isinstance(data, dict) else None
    return found if isinstance(found, str) and found else None


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
