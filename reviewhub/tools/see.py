"""Tools that turn up in calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from reviewhub.accounts.models import Agent
from reviewhub.core import clock
from reviewhub.core.errors import Invalid
from reviewhub.tools.acts import act_of
from reviewhub.tools.models import Tool
from reviewhub.tools.rules import name_fault

SEEN_EVERY = timedelta(minutes=1)


def known(*, agent: Agent, names: Iterable[str]) -> dict[str, Tool]:
    """The tools that an agent's calls name, by name; one that was never heard of is a row that nobody saved.

    Raises:
        Invalid: a name is empty, too long, or holds control characters.
    """
    wanted = _checked(names)
    found = _by_name(agent, wanted)
    return {name: found.get(name) or _new(agent, name) for name in wanted}


def see(*, agent: Agent, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """The same tools, which `known` found, by name; makes a row for each one that was never heard of.

    A tool known from sight only is unregistered and counts as `once`, so every call of it needs approval. Agents that
    see the same new tool at the same moment get one row.
    """
    found = dict(tools)
    # In the order of their names: two transactions that add the same two rows do not wait for each other crosswise.
    missing = sorted(name for name, tool in found.items() if tool._state.adding)
    if missing:
        found |= _made(agent, missing)
    # Whether a minute has passed is asked of this machine's clock: it is about a note, and the database is not asked.
    before = timezone.now() - SEEN_EVERY
    _touch([tool for tool in found.values() if tool.last_seen_at is None or tool.last_seen_at < before])
    return found


@transaction.atomic
def _made(agent: Agent, names: list[str]) -> dict[str, Tool]:
    """Rows for these names, unless somebody has made them since they were looked for.

    PostgreSQL leaves out what is there. SQLite's guard refuses it, but there nobody else writes during a transaction.
    """
    now, there = clock.now(), _by_name(agent, names)
    Tool.objects.bulk_create(
        [_new(agent, name, last_seen_at=now) for name in names if name not in there],
        ignore_conflicts=True,
    )
    return _by_name(agent, names)


def _new(agent: Agent, name: str, **columns: Any) -> Tool:
    act = act_of(name)
    if act is not None:
        columns |= {"effect": act.effect, "sentence": act.sentence}
    return Tool(workspace_id=agent.workspace_id, agent=agent, name=name, **columns)


def _checked(names: Iterable[str]) -> list[str]:
    wanted = sorted(set(names))
    for name in wanted:
        if (fault := name_fault(name)) is not None:
            raise Invalid.at("/tool", fault)
    return wanted


def _by_name(agent: Agent, names: list[str]) -> dict[str, Tool]:
    return {tool.name: tool for tool in Tool.objects.filter(agent=agent, name__in=names)}


def _touch(stale: list[Tool]) -> None:
    """Notes the time, save on rows that another transaction holds: it is noting it too, and nobody waits for that."""
    if not stale:
        return
    # A transaction only here: a commit that writes nothing costs its round trip all the same.
    with transaction.atomic():
        free = Tool.objects.select_for_update(skip_locked=True, no_key=True).filter(
            pk__in=[tool.pk for tool in stale]
        )
        ids = list(free.values_list("pk", flat=True))
        now = clock.now()
        Tool.objects.filter(pk__in=ids).update(last_seen_at=now)
    for tool in stale:
        tool.last_seen_at = now
