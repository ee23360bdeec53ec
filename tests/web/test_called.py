"""What pages say of a result that is not as its tool declares."""

from __future__ import annotations

import pytest

from reviewhub.web.called import misfit

SCHEMA = '{"type":"object","required":["cents"],"properties":{"cents":{"type":"integer"}}}'


@pytest.mark.parametrize(
    ("result", "schema", "where"),
    [
        ('{"cents":5}', SCHEMA, None),
        ('{"cents":"many"}', SCHEMA, "/cents"),
        ("{}", SCHEMA, "/cents"),
        ("[1]", SCHEMA, ""),
        ('{"cents":"many"}', "", None),
        (None, SCHEMA, None),
        ("1", '{"$ref":"https://example.com/x"}', ""),
    ],
)
def test_where_a_result_is_not_as_declared(result: str | None, schema: str, where: str | None) -> None:
    assert misfit(result, schema) == where
