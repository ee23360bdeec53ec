"""Checks an export of ReviewHub's record, or signed receipts of a call, without ReviewHub.

    python verify_audit.py FILE --key PUBLIC [--key PUBLIC]

One file: it needs Python 3.11 and the package `cryptography`, and nothing else of ours. PUBLIC is the public key (64
hexadecimal digits) that whoever runs the record gave you, by another way than the bundle. It says what was checked, or
the first place that is broken, and ends with 0 or 1 (2: it could not be tried). The formats are in docs/audit.md.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FORMAT = "reviewhub record 1"
HEX = {size: re.compile(f"[0-9a-f]{{{2 * size}}}") for size in (16, 32, 64)}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STATE_HASH = re.compile("sha256:[0-9a-f]{64}")
LONGEST_LINE = 256_000_000
MOST_RECEIPTS = 50_000_000

STATEMENT = {
    "chain": str,
    "first": int,
    "key": str,
    "last": int,
    "next": str,
    "number": int,
    "previous": str,
    "root": str,
    "sealed_at": str,
    "version": int,
    "workspace": str,
}
HEADER = {
    "anchor": (dict, type(None)),
    "bundle": str,
    "key": str,
    "keys": list,
    "kind": str,
    "made_at": str,
    "workspace": str,
}
END = {"key": str, "lines": int, "sha256": str, "signature": str}
STATE = {"fields": dict, "hash": str, "masked": list, "texts": dict}
MISSING = ("removed", "damaged", "unknown")
EVENT = {"at": str, "id": int, "kind": str, "leaf": str, "position": int}


class Broken(Exception):
    """The bundle is not what was sealed; the message says where and why."""


@dataclass
class Report:
    """What a bundle that holds has shown."""

    kind: str = ""
    workspace: str = ""
    seals: int = 0
    events: int = 0
    erased: int = 0
    first: int = 0
    last: int = 0
    anchor: int = 0
    states: int = 0
    masked: int = 0
    missing: int = 0
    times: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """In words, with what it does not show."""
        signed = ", ".join(key[:16] for key in self.keys)
        erased = f", {self.erased} of them erased" if self.erased else ""
        if self.kind == "range":
            begin = "the beginning" if not self.anchor else f"seal {self.anchor}, which is not in it"
            what = (
                f"All {self.events} events{erased} from position {self.first} to {self.last} are there, in their order"
                f" and unchanged, in {_many(self.seals, 'seal')} after {begin}."
            )
        else:
            what = (
                f"{_many(self.events, 'chosen event')}{erased} unchanged in the sealed record,"
                f" in {_many(self.seals, 'seal')}."
                " That no other event fits the choice is not shown."
            )
        when = f" Sealed from {self.times[0]} to {self.times[-1]}." if self.times else ""
        return f"{what}{self._of_states()}{when} Workspace {self.workspace}; signed by {signed}."

    def _of_states(self) -> str:
        if not self.states:
            return ""
        said = (
            f" {self.states - self.missing} states of checkpoints that events name are those that were hashed"
        )
        if self.masked:
            said += f"; in {self.masked} of them parts are masked, for which only the signer of the bundle vouches"
        if self.missing:
            said += f"; {self.missing} are not kept any more"
        return f"{said}."


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def verify_bundle(lines: Callable[[], Iterable[bytes]], keys: Sequence[str]) -> Report:
    """Checks a bundle.

    Args:
        lines: gives the bundle's lines with their ends, anew each time; it is read twice.
        keys: public keys that you trust, in hexadecimal.

    Raises:
        Broken: at the first place that is not what was sealed.
        ValueError: a key is none.
    """
    _check_keys(keys)
    vouched, fault = _whole(lines(), set(keys))
    report = _Walk(set(keys) | vouched, set(keys)).go(lines())
    if fault:  # Nothing within is wrong, but the bundle is not as it was given out.
        raise Broken(fault)
    return report


def _check_keys(keys: Sequence[str]) -> None:
    for key in keys:
        if not HEX[32].fullmatch(key):
            raise ValueError(f"{key!r} is no public key: 64 hexadecimal digits in lower case")


def _whole(lines: Iterable[bytes], keys: set[str]) -> tuple[set[str], str]:
    """The keys that the bundle's own signature vouches for, and what is wrong with that signature."""
    hashed = hashlib.sha256()
    count, before, header = 0, b"", b""
    for line in lines:
        if count:
            hashed.update(before)
        else:
            header = line
        before = line
        count += 1
    try:
        end = _fields(_line(before, "the last line"), "end", END, "the last line")
        head = _fields(_line(header, "line 1"), "header", HEADER, "line 1")
    except Broken as error:
        return set(), str(error)
    if end["lines"] != count - 1 or end["sha256"] != hashed.hexdigest():
        return set(), "the last line: the lines before it are not those that were signed"
    if end["key"] != head["key"]:
        return set(), "the last line: signed by another key than line 1 says"
    message = b"reviewhub bundle 1\n" + hashed.digest()
    if not _is_signed(end["key"], message, end["signature"]):
        return set(), "the last line: the signature is not that of the lines before it"
    known = {key for key in head["keys"] if isinstance(key, str) and HEX[32].fullmatch(key)}
    if end["key"] in keys:
        return known, ""
    # Signed by a key that a trusted one handed over to, perhaps: the walk knows then. Else:
    return set(), ""


class _Walk:
    """One way through the bundle, line by line; it keeps one hash for each level of a tree."""

    def __init__(self, trusted: set[str], pinned: set[str]) -> None:
        self.trusted = trusted
        self.pinned = pinned
        self.report = Report()
        self.signer = ""
        self.seal: dict[str, Any] = {}
        self.tree = _Tree()
        self.chain = bytes(32)
        self.previous = ""
        self.turn = ""
        self.position = 0
        self.listed = 0
        self.words = ""

    def go(self, lines: Iterable[bytes]) -> Report:
        number, ended = 0, False
        for number, raw in enumerate(lines, start=1):
            where = f"line {number}"
            if ended:
                raise Broken(f"{where}: nothing may follow the end")
            value = _line(raw, where)
            if number == 1:
                self._header(_fields(value, "header", HEADER, where), where)
            elif "seal" in value:
                self._close(where)
                self._seal(_fields(value, "seal", {"signature": str, "statement": str}, where), where)
            elif "event" in value:
                self._event(value, where)
            elif "state" in value:
                self._state(value, where)
            else:
                self._close(where)
                _fields(value, "end", END, where)
                ended = True
        if not ended:
            raise Broken(f"after line {number}: the end is missing")
        if self.signer not in self.trusted:
            raise Broken(
                f"line 1: the key {self.signer[:16]} that signed the bundle is not one that you trust"
            )
        return self.report

    def _header(self, header: dict[str, Any], where: str) -> None:
        if header["bundle"] != FORMAT or header["kind"] not in ("range", "selection"):
            raise Broken(f"{where}: this is no bundle of the format {FORMAT!r}")
        _need(HEX[32], header["key"], f"{where}: the key")
        _need(TIME, header["made_at"], f"{where}: the time")
        self.report.kind, self.report.workspace = header["kind"], header["workspace"]
        self.signer = header["key"]
        try:
            if str(uuid.UUID(header["workspace"])) != header["workspace"]:
                raise ValueError
        except ValueError as error:
            raise Broken(f"{where}: the workspace is no UUID") from error
        if header["anchor"] is not None:
            if header["kind"] != "range":
                raise Broken(f"{where}: a selection has no anchor")
            said = self._signed(_typed(header["anchor"], {"signature": str, "statement": str}, where), where)
            self.chain = bytes.fromhex(said["chain"])
            self.report.anchor, self.position = said["number"], said["last"]

    def _signed(self, seal: dict[str, Any], where: str) -> dict[str, Any]:
        """The statement of a seal whose signature counts."""
        text = seal["statement"]
        said: dict[str, Any] = _typed(
            _json(text, f"{where}: the statement"), STATEMENT, f"{where}: the statement"
        )
        where = f"{where}, seal {said['number']}"
        if _dumps(said) != text or said["version"] != 1:
            raise Broken(f"{where}: the statement is not in its canonical form")
        for name in ("root", "chain", "key"):
            _need(HEX[32], said[name], f"{where}: {name}")
        for name in ("previous", "next"):
            if said[name]:
                _need(HEX[32], said[name], f"{where}: {name}")
        _need(TIME, said["sealed_at"], f"{where}: sealed_at")
        if not 0 < said["first"] <= said["last"] < 2**63 or said["number"] < 1:
            raise Broken(f"{where}: the statement names an impossible range")
        if not _is_signed(said["key"], b"reviewhub seal 1\n" + text.encode(), seal["signature"]):
            raise Broken(f"{where}: the signature is not that of the statement")
        if said["key"] not in self.trusted:
            raise Broken(f"{where}: the key {said['key'][:16]} is not one that you trust")
        if said["workspace"] != self.report.workspace:
            raise Broken(f"{where}: the seal is of another workspace")
        if self.turn and said["key"] != self.turn and said["key"] not in self.pinned:
            raise Broken(f"{where}: it was the turn of the key {self.turn[:16]}")
        self.turn = said["next"] or said["key"]
        self.trusted.add(self.turn)
        self.previous = hashlib.sha256(text.encode()).hexdigest()
        if said["key"] not in self.report.keys:
            self.report.keys.append(said["key"])
        return said

    def _seal(self, seal: dict[str, Any], where: str) -> None:
        before, number = self.previous, self.seal.get("number", self.report.anchor)
        if self.report.kind == "selection":
            self.turn = ""  # Seals between may be left out, and with them a change of keys.
        claimed = _json(seal["statement"], f"{where}: the statement").get("number")
        if self.report.kind == "range" and claimed != number + 1:
            raise Broken(f"{where}, seal {claimed}: seal {number + 1} is missing")
        said = self._signed(seal, where)
        where = f"{where}, seal {said['number']}"
        follows = said["number"] == number + 1 and (number or self.report.kind == "range")
        if follows and said["previous"] != before:
            raise Broken(f"{where}: the statement before is another one")
        if said["number"] <= number:
            raise Broken(f"{where}: the seals are not in their order")
        if (said["number"] == 1) != (said["previous"] == "") or (said["number"] == 1) != (said["first"] == 1):
            raise Broken(f"{where}: only the first seal begins the chain")
        if self.report.kind == "range" and said["first"] != self.position + 1:
            raise Broken(f"{where}: begins at position {said['first']} instead of {self.position + 1}")
        if said["first"] <= self.position and self.position > 0:
            raise Broken(f"{where}: begins at position {said['first']}, which an earlier seal has")
        self.seal, self.tree, self.listed, self.words = said, _Tree(), 0, ""
        self.report.seals += 1
        self.report.times = [*self.report.times[:1], said["sealed_at"]]

    def _event(self, value: dict[str, Any], where: str) -> None:
        if not self.seal:
            raise Broken(f"{where}: an event stands before the first seal")
        chosen = self.report.kind == "selection"
        raw = value.get("event")
        told = (
            {"erased_at": str} if isinstance(raw, dict) and "erased_at" in raw else {"body": str, "salt": str}
        )
        event = _fields(value, "event", {**EVENT, **told, **({"path": list} if chosen else {})}, where)
        position = event["position"]
        where = f"{where}, seal {self.seal['number']}, position {position}, event {event['id']}"
        _need(HEX[32], event["leaf"], f"{where}: the leaf")
        _need(TIME, event["at"], f"{where}: the time")
        leaf = bytes.fromhex(event["leaf"])
        if len(event["kind"]) > 255:
            raise Broken(f"{where}: the kind is too long")
        if "erased_at" in event:
            _need(TIME, event["erased_at"], f"{where}: the time of the erasure")
            self.report.erased += 1
        else:
            _need(HEX[16], event["salt"], f"{where}: the salt")
            if _leaf(self.report.workspace, event) != leaf:
                raise Broken(f"{where}: the leaf is not that of the event's kind, time and words")
        if chosen:
            self._chosen(event, leaf, where)
        else:
            if position != self.position + 1 or position > self.seal["last"]:
                raise Broken(f"{where}: position {self.position + 1} was expected")
            self.chain = _link(self.chain, position, leaf)
            self.tree.add(leaf)
        self.words = event.get("body", "")
        self.position = position
        self.listed += 1
        self.report.events += 1
        self.report.first = self.report.first or position
        self.report.last = position

    def _state(self, value: dict[str, Any], where: str) -> None:
        """A state that the event before names: its fields make its hash, and their texts what is not masked of them."""
        raw = value.get("state")
        if isinstance(raw, dict) and "missing" in raw:
            state = _fields(value, "state", {"hash": str, "missing": str}, where)
            if state["missing"] not in MISSING:
                raise Broken(f"{where}: nobody knows why the state is missing")
            self.report.missing += 1
        else:
            state = _fields(value, "state", STATE, where)
            _check_state(state, where)
            self.report.masked += bool(state["masked"])
        _need(STATE_HASH, state["hash"], f"{where}: the hash")
        if json.dumps(state["hash"]) not in self.words:
            raise Broken(f"{where}: the event before does not name this state")
        self.report.states += 1

    def _chosen(self, event: dict[str, Any], leaf: bytes, where: str) -> None:
        """An event with the path to the root of its seal."""
        position = event["position"]
        if not self.seal["first"] <= position <= self.seal["last"]:
            raise Broken(f"{where}: the position is not in its seal")
        if position <= self.position:
            raise Broken(f"{where}: the events are not in their order")
        path = []
        for step in event["path"]:
            if not isinstance(step, str):
                raise Broken(f"{where}: the path is none")
            _need(HEX[32], step, f"{where}: the path")
            path.append(bytes.fromhex(step))
        size = self.seal["last"] - self.seal["first"] + 1
        if _climb(leaf, position - self.seal["first"], size, path) != bytes.fromhex(self.seal["root"]):
            raise Broken(f"{where}: the path does not lead from the leaf to the root of the seal")

    def _close(self, where: str) -> None:
        """The seal's events are all there, or (of a selection) at least one is."""
        if not self.seal:
            return
        said = self.seal
        at = f"{where}: seal {said['number']}"
        if self.report.kind == "selection":
            if not self.listed:
                raise Broken(f"{at} has no event")
            return
        if self.position != said["last"]:
            raise Broken(f"{at}: position {self.position + 1} is missing")
        if self.tree.root() != bytes.fromhex(said["root"]):
            raise Broken(f"{at}: the root over its leaves is another one")
        if self.chain != bytes.fromhex(said["chain"]):
            raise Broken(f"{at}: the chain ends in another value")


class _Tree:
    """RFC 6962, section 2.1, leaf by leaf."""

    def __init__(self) -> None:
        self.size = 0
        self.whole: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        found, size = hashlib.sha256(b"\x00" + leaf).digest(), self.size
        while size & 1:
            found = hashlib.sha256(b"\x01" + self.whole.pop() + found).digest()
            size >>= 1
        self.whole.append(found)
        self.size += 1

    def root(self) -> bytes:
        if not self.whole:
            return b""
        found = self.whole[-1]
        for left in reversed(self.whole[:-1]):
            found = hashlib.sha256(b"\x01" + left + found).digest()
        return found


def _climb(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root that a path leads to; b"" when it is too short or too long."""
    found, steps, last = hashlib.sha256(b"\x00" + leaf).digest(), iter(path), size - 1
    while last:
        if index & 1:
            found = hashlib.sha256(b"\x01" + next(steps, b"") + found).digest()
        elif index < last:
            found = hashlib.sha256(b"\x01" + found + next(steps, b"")).digest()
        index >>= 1
        last >>= 1
    return b"" if next(steps, None) is not None else found


def _leaf(workspace: str, event: dict[str, Any]) -> bytes:
    salt = bytes.fromhex(event["salt"])
    payload = hashlib.sha256(b"reviewhub payload 1\n" + salt + event["body"].encode()).digest()
    kind = event["kind"].encode()
    at = (datetime.fromisoformat(event["at"]) - EPOCH) // timedelta(microseconds=1)
    return hashlib.sha256(
        b"reviewhub event 1\n"
        + uuid.UUID(workspace).bytes
        + len(kind).to_bytes(2, "big")
        + kind
        + at.to_bytes(8, "big", signed=True)
        + payload
    ).digest()


def _check_state(state: dict[str, Any], where: str) -> None:
    fields, texts, hidden = state["fields"], state["texts"], state["masked"]
    for name, digest in fields.items():
        if not isinstance(digest, str) or not isinstance(texts.get(name), str):
            raise Broken(f"{where}: the field {name!r} of the state is none")
        _need(HEX[32], digest, f"{where}: the digest of the field {name!r}")
        if name not in hidden and hashlib.sha256(texts[name].encode()).hexdigest() != digest:
            raise Broken(f"{where}: the field {name!r} of the state is not what was hashed")
    if set(texts) != set(fields) or hidden != sorted({str(one) for one in hidden} & set(fields)):
        raise Broken(f"{where}: the state has other fields than were hashed")
    made = hashlib.sha256(_dumps({"fields": fields, "version": 1}).encode()).hexdigest()
    if state["hash"] != f"sha256:{made}":
        raise Broken(f"{where}: the hash is not that of the state's fields")


def _link(before: bytes, position: int, leaf: bytes) -> bytes:
    return hashlib.sha256(b"reviewhub chain 1\n" + before + position.to_bytes(8, "big") + leaf).digest()


def _is_signed(key: str, message: bytes, signature: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not HEX[32].fullmatch(key) or not HEX[64].fullmatch(signature):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _plain(text: str) -> str:
    """Words that others wrote, without what a terminal would act on."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _line(raw: bytes, where: str) -> dict[str, Any]:
    """One line: a JSON object, written in the one way that it may be written."""
    if not raw.endswith(b"\n"):
        raise Broken(f"{where}: the line has no end")
    try:
        text = raw[:-1].decode("utf-8")
    except UnicodeDecodeError as error:
        raise Broken(f"{where}: not UTF-8") from error
    value = _json(text, where)
    if _dumps(value) != text:
        raise Broken(f"{where}: not in its canonical form")
    return value


def _json(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Broken(f"{where}: not JSON") from error
    if not isinstance(value, dict):
        raise Broken(f"{where}: not a JSON object")
    return value


def _dumps(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except ValueError:
        return ""


def _fields(value: dict[str, Any], name: str, types: dict[str, Any], where: str) -> dict[str, Any]:
    """The object under the line's only key."""
    if set(value) != {name} or not isinstance(value[name], dict):
        raise Broken(f"{where}: {name!r} was expected")
    return _typed(value[name], types, where)


def _typed(value: dict[str, Any], types: dict[str, Any], where: str) -> dict[str, Any]:
    if set(value) != set(types):
        raise Broken(f"{where}: the fields are not {', '.join(sorted(types))}")
    for name, kind in types.items():
        if not isinstance(value[name], kind) or isinstance(value[name], bool):
            raise Broken(f"{where}: {name} has a wrong type")
        if isinstance(value[name], int) and not -(2**63) <= value[name] < 2**63:
            raise Broken(f"{where}: {name} is too large")
    return value


def _need(pattern: re.Pattern[str], text: str, what: str) -> None:
    if not pattern.fullmatch(text):
        raise Broken(f"{what} is not in its canonical form")
    if pattern is TIME:
        try:
            datetime.fromisoformat(text)
        except ValueError as error:
            raise Broken(f"{what} is none") from error


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            yield line


def receipts_in(path: Path) -> list[Any] | None:
    """The receipts that a file holds: a list of them, as a request's page gives it, or one; None of anything else."""
    with path.open("rb") as file:
        text = file.read(MOST_RECEIPTS + 1)
    if len(text) > MOST_RECEIPTS:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    found = value["items"] if isinstance(value.get("items"), list) else [value]
    if not all(isinstance(one, dict) for one in found):
        return None
    envelopes = [one.get("envelope", one) for one in found]
    is_one = "items" in value or (isinstance(envelopes[0], dict) and "payloadType" in envelopes[0])
    return envelopes if is_one else None


def verify_receipts(envelopes: Sequence[Any], keys: Sequence[str]) -> list[str]:
    """What each receipt says, in words.

    Raises:
        Broken: at the first that none of the keys signed, or that is no receipt.
        ValueError: a key is none.
    """
    _check_keys(keys)
    if not envelopes:
        raise Broken("the file has no receipt")
    return [_receipt(one, keys, f"receipt {number}") for number, one in enumerate(envelopes, 1)]


def _receipt(envelope: Any, keys: Sequence[str], where: str) -> str:
    try:
        kind = envelope["payloadType"]
        payload = base64.b64decode(envelope["payload"], validate=True)
        signatures = [base64.b64decode(one["sig"], validate=True).hex() for one in envelope["signatures"]]
        message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Broken(f"{where}: no receipt") from error
    if not any(_is_signed(key, message, signature) for key in keys for signature in signatures):
        raise Broken(f"{where}: not signed by the key that was given, or changed afterwards")
    try:
        statement = json.loads(payload)
        (subject,) = statement["subject"]
        facts, what = statement["predicate"], statement["predicateType"]
        about = f"{facts['tool']}, call {subject['name']}, sha256:{subject['digest']['sha256']}"
        if what == "urn:reviewhub:decision:1":
            by = f"{facts['by']['kind']} {facts['by']['name']}".strip()
            allows = "may run once" if facts["allows"] else "may not run"
            return f"decision: {facts['type']} by {by}, {facts['decided_at']}, {allows}: {about}"
        if what == "urn:reviewhub:execution:1":
            return f"execution: {facts['status']}, {facts['ended_at']}: {about}"
    except (KeyError, TypeError, ValueError) as error:
        raise Broken(f"{where}: signed, and no receipt") from error
    raise Broken(f"{where}: signed, and of a kind that this program does not know")


class _Bar:
    """On a terminal, how far it is: of so many bytes that are read in all."""

    def __init__(self, whole: int) -> None:
        self.whole, self.done, self.shown = max(whole, 1), 0, -1
        self.is_seen = sys.stderr.isatty()

    def over(self, lines: Iterable[bytes]) -> Iterable[bytes]:
        return self._over(lines) if self.is_seen else lines

    def _over(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            yield line
            self.done += len(line)
            percent = min(100 * self.done // self.whole, 100)
            if percent != self.shown:
                self.shown = percent
                sys.stderr.write(f"\r{'#' * (percent * 2 // 5):<40} {percent:3d}%")
                sys.stderr.flush()

    def end(self) -> None:
        if self.shown >= 0:
            sys.stderr.write("\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; what it returns is the exit status."""
    parser = argparse.ArgumentParser(
        description="Checks an export of ReviewHub's record, or signed receipts of a call."
    )
    parser.add_argument("bundle", type=Path, metavar="file", help="a bundle (JSON lines), or receipts (JSON)")
    parser.add_argument(
        "--key", action="append", required=True, help="a public key that you trust, 64 hexadecimal digits"
    )
    given = parser.parse_args(arguments)
    try:
        if (receipts := receipts_in(given.bundle)) is not None:
            said = verify_receipts(receipts, given.key)
            many = f"{len(said)} receipt{'s' * (len(said) > 1)}"
            sys.stdout.write(
                f"OK. {many}, signed by the key\n" + "".join(f"  {_plain(one)}\n" for one in said)
            )
            return 0
        bar = _Bar(2 * given.bundle.stat().st_size)  # it is read twice
        try:
            report = verify_bundle(lambda: bar.over(_read(given.bundle)), given.key)
        finally:
            bar.end()
    except Broken as error:
        sys.stdout.write(f"BROKEN: {error}\n")
        return 1
    except (OSError, ValueError, ImportError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"OK. {report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
