"""Receipts: signed proof of a decision about one tool call, and of how the call ended.

A receipt is an in-toto statement (https://in-toto.io/Statement/v1) in a DSSE envelope (v1.0), signed with Ed25519. The
owner of a tool can ask for one before doing what cannot be undone, and needs nothing of ReviewHub but its public key.
Checking needs the package `cryptography` (`pip install reviewhub-agents[proof]`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .canonical import digest as digest_of

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
DECISION: Final = "urn:reviewhub:decision:1"
EXECUTION: Final = "urn:reviewhub:execution:1"
_KEY: Final = re.compile("[0-9a-f]{64}")


class BadReceipt(Exception):
    """What was shown is no receipt of the key's holder about this tool call."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What a receipt says; docs/audit.md names the facts of each kind.

    Args:
        kind: "decision" or "execution".
        digest: that of the tool call, `sha256:…` over {version, tool, arguments}.
        facts: all of it.
    """

    kind: str
    digest: str
    facts: Mapping[str, Any]

    @property
    def allows(self) -> bool:
        """Whether it is a decision by which exactly this call may run, once."""
        return self.kind == "decision" and bool(self.facts.get("allows"))


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the bytes that are signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def verify_receipt(
    envelope: Mapping[str, Any] | str | bytes,
    public_key: str,
    *,
    tool: str | None = None,
    arguments: str | None = None,
) -> Receipt:
    """Checks a receipt and gives what it says.

    Args:
        envelope: the DSSE envelope, read already or as JSON text.
        public_key: ReviewHub's, 64 hexadecimal digits, which you had before.
        tool, arguments: the call that you are about to run, arguments as JSON text. With both, the receipt has to be
            about exactly this call.

    Raises:
        BadReceipt: saying why.
        ValueError: the key is none, or only one of `tool` and `arguments` is given.
    """
    if not _KEY.fullmatch(public_key):
        raise ValueError("a public key has 64 hexadecimal digits in lower case")
    if (tool is None) != (arguments is None):
        raise ValueError("a call is a tool and its arguments: give both or none")
    payload = _signed(_read(envelope), public_key)
    receipt = _receipt(payload)
    if tool is None or arguments is None or digest_of(tool=tool, arguments_text=arguments) == receipt.digest:
        return receipt
    raise BadReceipt("The receipt is about another call.")


def _read(envelope: Mapping[str, Any] | str | bytes) -> Mapping[str, Any]:
    if isinstance(envelope, Mapping):
        return envelope
    try:
        found = json.loads(envelope)
    except (ValueError, RecursionError) as error:
        raise BadReceipt("The envelope is not JSON.") from error
    if not isinstance(found, dict):
        raise BadReceipt("The envelope is not a JSON object.")
    return found


def _signed(envelope: Mapping[str, Any], public_key: str) -> bytes:
    """The payload, when one of the signatures is the key's. `keyid` is a hint only, and not looked at."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if envelope.get("payloadType") != PAYLOAD_TYPE:
        raise BadReceipt("The envelope is of another type.")
    payload = _bytes(envelope.get("payload"))
    signatures = envelope.get("signatures")
    message = pae(PAYLOAD_TYPE, payload)
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
    for one in signatures if isinstance(signatures, list) else []:
        try:
            key.verify(_bytes(one.get("sig") if isinstance(one, dict) else None), message)
        except InvalidSignature:
            continue
        return payload
    raise BadReceipt("The key did not sign this.")


def _bytes(text: object) -> bytes:
    """Base 64, of either alphabet, as DSSE wants it."""
    if not isinstance(text, str):
        raise BadReceipt("A field of the envelope is missing.")
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadReceipt("A field of the envelope is not base 64.") from error


def _receipt(payload: bytes) -> Receipt:
    kinds = {DECISION: "decision", EXECUTION: "execution"}
    try:
        statement = json.loads(payload)
        (subject,) = statement["subject"]
        if statement["_type"] != STATEMENT_TYPE:
            raise BadReceipt("The statement is of another type.")
        kind, facts = kinds[statement["predicateType"]], statement["predicate"]
        if not isinstance(facts, dict):
            raise BadReceipt("The statement has no facts.")
        return Receipt(kind=kind, digest=f"sha256:{subject['digest']['sha256']}", facts=facts)
    except (ValueError, KeyError, TypeError) as error:
        raise BadReceipt("The statement is not a receipt.") from error
