"""The examples of `docs/policy.md` are policies, and the tests and fields it names are those that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from reviewhub.policies.limit import Limit, WaitingLimit
from reviewhub.policies.model import Rule, Test
from reviewhub.policies.reading import parse_policy

TEXT = (Path(__file__).parents[2] / "docs/policy.md").read_text()


def test_each_example_can_be_read() -> None:
    examples = re.findall(r"```json\n(.*?)```", TEXT, re.S)
    assert len(examples) == 14
    for example in examples:
        parse_policy(example)


def test_every_test_and_every_field_is_named() -> None:
    for name in (*get_args(Test), *Rule.model_fields, *Limit.model_fields, *WaitingLimit.model_fields):
        assert f"`{name}`" in TEXT, name
