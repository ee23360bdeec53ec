"""A column that keeps what makes two names one name, so that the database can refuse the second one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import models

from reviewhub.accounts.rules import fold_name


class FoldedName(models.CharField):  # type: ignore[type-arg]  # generic for the type checker only
    """The row's `name` as `fold_name` folds it, written with every save of the row.

    Databases fold by rules of their own (SQLite knows ASCII letters only), so the folding is done here and only
    compared there.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 400, "editable": False, **options})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """To migrations it is a plain column, so that they stay what they were whatever becomes of this class."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.CharField", args, options

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """Folds the name of the row that is about to be written."""
        folded = fold_name(model_instance.name)  # type: ignore[attr-defined]  # the rows that have it have a name
        setattr(model_instance, self.attname, folded)
        return folded
