"""System checks of our own: E001 a foreign key points the wrong way through the layers, E002 a state table
does not cover its enum."""

from __future__ import annotations

import importlib
from typing import Any

from django.apps import apps
from django.core import checks
from django.db.models import ForeignKey, ManyToManyField

# The order of the layers, the lowest first; a foreign key may point to the same or to an earlier one.
LAYERS = (
    ("core",),
    ("audit",),
    ("accounts",),
    ("runs",),
    ("plans", "tools"),
    ("checkpoints", "policies"),
    ("budgets",),
    ("toolcalls",),
    ("verdicts",),
    ("deliveries",),
    ("resumptions",),
    ("reviews",),
    ("gates",),
    ("hosting",),
    ("insights",),
    ("retention",),
)
RANK = {app: rank for rank, row in enumerate(LAYERS) for app in row}


def register() -> None:
    """Called once by the core app."""
    checks.register(foreign_keys_point_down)
    checks.register(state_tables_are_whole)


def foreign_keys_point_down(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """E001: import-linter does not see a foreign key that is named by a string."""
    found: list[checks.CheckMessage] = []
    for model in apps.get_models(include_auto_created=True):
        here = model._meta.app_label
        for field in model._meta.get_fields():
            if here not in RANK or not isinstance(field, ForeignKey | ManyToManyField):
                continue
            there = field.remote_field.model._meta.app_label
            wrong = RANK.get(there, -1) > RANK[here] or (
                there != here and RANK.get(there, -1) == RANK[here] and there in RANK
            )
            if wrong:
                found.append(
                    checks.Error(
                        f"{model.__name__}.{field.name} points up to {there}", obj=model, id="reviewhub.E001"
                    )
                )
    return found


def state_tables_are_whole(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """E002: every member of a states enum has its row in the table, and every target is a member."""
    found: list[checks.CheckMessage] = []
    for app in RANK:
        try:
            module = importlib.import_module(f"reviewhub.{app}.states")
        except ModuleNotFoundError:
            continue
        for enum, table in module.TABLES:
            members = set(enum.values)
            targets = {target for row in table.values() for target in row}
            if set(table) != members or not targets <= members:
                found.append(
                    checks.Error(f"{app}.{enum.__name__} and its table differ", obj=enum, id="reviewhub.E002")
                )
    return found
