"""A piece of SQL as an expression, for what Django has no words for."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Func, Value
from django.db.models.sql.compiler import SQLCompiler

_PLACE = re.compile(r"\{(\w+)\}")


class Holds(Func):
    """A condition in SQL, `sql`, with its arguments wherever it says `{name}`."""

    sql: ClassVar[str]
    conditional = True
    output_field = BooleanField()

    def __init__(self, **arguments: Any) -> None:
        """`arguments` are expressions, by name."""
        self.names = list(arguments)
        super().__init__(*arguments.values())

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any) -> Any:
        """The text and its parameters."""
        given = zip(self.names, self.get_source_expressions(), strict=True)
        parts = {name: compiler.compile(one) for name, one in given}
        places = _PLACE.findall(self.sql)
        text = _PLACE.sub(lambda place: str(parts[place[1]][0]), self.sql)
        return text, tuple(value for name in places for value in parts[name][1])


class Matches(Value):
    """What stands after a column that is to match a regular expression; `case_matters` or not."""

    def __init__(self, pattern: str, *, case_matters: bool = False) -> None:
        super().__init__(pattern)
        self.lookup = "regex" if case_matters else "iregex"

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """The operator of this database and the pattern."""
        return connection.operators[self.lookup], (self.value,)  # type: ignore[attr-defined]
