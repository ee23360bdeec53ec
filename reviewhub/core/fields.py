"""A column of words, and the question whether it holds those that somebody looks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.models import Lookup

from reviewhub.core.words import Asked


class WordsField(models.TextField):  # type: ignore[type-arg]  # generic for the type checker only
    """Words as `core.words.words_text` writes them; `words__holds=words_asked(…)` finds rows by them.

    PostgreSQL reads an index for it that a migration made (`WORDS_INDEX`); SQLite reads the rows.
    """

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """To migrations it is a plain column."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.TextField", args, options


WORDS_INDEX = "CREATE INDEX {name} ON {table} USING gin (array_to_tsvector(string_to_array({column}, ' ')))"


@WordsField.register_lookup
class Holds(Lookup):
    """Each of the words (letters and digits, nothing to escape) is one of the column's, or begins one where that is
    enough; none are never held."""

    lookup_name = "holds"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """For each database its own way to the same answer."""
        column, params = self.process_lhs(compiler, connection)
        words: Sequence[Asked] = self.rhs
        if not words:
            return "1 = 0", ()
        if connection.vendor == "postgresql":
            asked = " & ".join(f"'{word.text}'{'' if word.is_whole else ':*'}" for word in words)
            return f"array_to_tsvector(string_to_array({column}, ' ')) @@ %s::tsquery", (*params, asked)
        held = " AND ".join(f"(' ' || {column} || ' ') LIKE %s" for _ in words)
        likes = [f"% {word.text} %" if word.is_whole else f"% {word.text}%" for word in words]
        return f"({held})", tuple(value for like in likes for value in (*params, like))
