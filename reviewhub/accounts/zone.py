"""In which zone somebody reads times: the one that they chose, else that of their browser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo

from reviewhub.accounts.models import Member, Person
from reviewhub.core import zones
from reviewhub.core.errors import Invalid

COOKIE = "zone"
"""In which the page's own script says what zone the browser is set to."""


def zone_of(person: Person, cookies: Mapping[str, str] | None = None) -> tzinfo:
    """The zone in which a person reads times; UTC while nobody said one.

    Args:
        cookies: of the browser before which they sit; without one, as for an e-mail, the last that they sat before.
    """
    said = (cookies or {}).get(COOKIE, "")
    if person.zone_is_chosen or said not in zones.known():
        return zones.zone_called(person.zone)
    return zones.zone_called(said)


def note_zone(person: Person, cookies: Mapping[str, str]) -> None:
    """Keeps the browser's zone, for what is sent to the person, unless they chose one."""
    said = cookies.get(COOKIE, "")
    if person.zone_is_chosen or said == person.zone or said not in zones.known():
        return
    Person.objects.filter(pk=person.pk, zone_is_chosen=False).update(zone=said)
    person.zone = said


def choose_zone(person: Person, name: str) -> None:
    """The person's own choice; with an empty name the browser's counts again. Raises Invalid for no zone."""
    if name and name not in zones.known():
        raise Invalid.at("/zone", "Choose one of the zones.")
    person.zone_is_chosen = bool(name)
    if name:
        person.zone = name
    person.save(update_fields=["zone", "zone_is_chosen"])


def addresses_by_zone(members: Iterable[Member]) -> list[tuple[tzinfo, list[str]]]:
    """The e-mail addresses of these people (with their `person`), each once, by the zone that they read times in."""
    found: dict[str, set[str]] = {}
    for person in {member.person for member in members}:
        found.setdefault(zones.name_of(zone_of(person)), set()).add(person.email)
    return [(zones.zone_called(name), sorted(found[name])) for name in sorted(found)]
