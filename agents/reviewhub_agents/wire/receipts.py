"""Receipts as programs get them: DSSE envelopes, whose names are those of that specification."""

from __future__ import annotations

from typing import Literal

from .base import Wire


class SignatureOut(Wire):
    """One signature of an envelope; `keyid` is a hint only."""

    keyid: str
    sig: str


class EnvelopeOut(Wire):
    """A DSSE envelope: `payload` is base 64 of an in-toto statement."""

    payload: str
    payloadType: str
    signatures: list[SignatureOut]


class ReceiptOut(Wire):
    """The signed proof of a decision, or of how the call ended; `reviewhub_agents.verify_receipt` checks it."""

    kind: Literal["decision", "execution"]
    envelope: EnvelopeOut


class ReceiptList(Wire):
    """The receipts of one tool call, the oldest decision first."""

    items: list[ReceiptOut]
