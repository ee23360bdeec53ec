"""Where a webhook of a verifier may lead: out of the house, unless the settings allow more."""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

INDIRECT: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "::/96",  # IPv4-compatible, RFC 4291
        "::ffff:0:0/96",  # IPv4-mapped, RFC 4291
        "::ffff:0:0:0/96",  # IPv4-translated, RFC 2765
        "64:ff9b::/96",  # NAT64, RFC 6052
        "64:ff9b:1::/48",  # NAT64 of one network, RFC 8215
        "2001::/32",  # Teredo, RFC 4380
        "2002::/16",  # 6to4, RFC 3056
        "fec0::/10",  # site-local, RFC 3879
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "192.0.0.0/24",  # protocol assignments, RFC 6890
    )
)
"""Networks that lead to another address than they show, or to none of the internet."""


class Refused(ValueError):
    """The address is none that the server asks."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A checked address: what is asked for, of whom, and the very IP address that was looked at."""

    url: str
    host: str
    ip: str


def address_fault(url: str) -> str:
    """Why this cannot be the address of a webhook, as far as its text says; empty when it can."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "is no http or https address"
    if parts.username or parts.password:
        return "has a name or password in it"
    if port == 0 or any(ord(char) <= 32 for char in url):
        return "is no address"
    return ""


def look_up(url: str, *, private: bool, seconds: float) -> Place:
    """Finds out where an address leads now. The connection is made to exactly that IP address, so that a name which
    means another one a moment later leads nowhere else.

    Args:
        private: whether addresses of the house are allowed.
        seconds: how long the names may be looked for.

    Raises:
        Refused: it is none, leads to an address that is not public, or to none at all.
        TimeoutError: whoever knows the names did not answer in time.
    """
    if fault := address_fault(url):
        raise Refused(f"The address {fault}.")
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    ips = _ips(host, port, seconds)
    if not private and not all(is_public(ip) for ip in ips):
        raise Refused(f"{host} leads to an address that is not public.")
    return Place(url=url, host=host, ip=ips[0])


def _ips(host: str, port: int, seconds: float) -> list[str]:
    """The IP addresses of a name. The system's resolver has time limits of its own, so it is asked in a thread that is
    left behind when it takes too long."""
    said: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def find() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            said.put([str(row[4][0]) for row in found])
        except (OSError, UnicodeError) as error:
            said.put(error)

    threading.Thread(target=find, name="look-up", daemon=True).start()
    try:
        answer = said.get(timeout=max(0.01, seconds))
    except queue.Empty as error:
        raise TimeoutError from error
    if not isinstance(answer, list):
        raise Refused(f"{host} cannot be found.") from answer
    return answer


def is_public(ip: str) -> bool:
    """Whether an IP address is one of the public internet, and holds no other one that a gateway would unpack."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if any(address in network for network in INDIRECT):
        return False
    return address.is_global and not address.is_multicast
