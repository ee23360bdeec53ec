"""The worker's log tells what happened, and not every look at what did not."""

from __future__ import annotations

import logging

import pytest

from reviewhub.celery import SWEEPS
from reviewhub.ops.quiet import LOGGERS, IdleSweeps

RECEIVED = "Task %(name)s[%(id)s] received"
SUCCEEDED = "Task %(name)s[%(id)s] succeeded in %(runtime)ss: %(return_value)s"


@pytest.mark.parametrize(
    ("level", "text", "name", "returned", "kept"),
    [
        (logging.INFO, RECEIVED, SWEEPS[0], None, False),
        (logging.INFO, SUCCEEDED, SWEEPS[0], "0", False),
        (logging.INFO, SUCCEEDED, SWEEPS[0], "None", False),
        (logging.INFO, SUCCEEDED, SWEEPS[0], "2", True),
        (logging.ERROR, "Task %(name)s[%(id)s] raised", SWEEPS[0], None, True),
        (logging.INFO, RECEIVED, "reviewhub.hosting.tasks.resume", None, True),
        (logging.INFO, SUCCEEDED, "reviewhub.hosting.tasks.resume", "True", True),
    ],
)
def test_only_idle_sweeps_are_left_out(
    level: int, text: str, name: str, returned: str | None, kept: bool
) -> None:
    about = {"name": name, "id": "1", "runtime": 0.1}
    if returned is not None:
        about["return_value"] = returned
    record = logging.LogRecord(LOGGERS[0], level, __file__, 1, text, (about,), None)
    assert IdleSweeps(SWEEPS).filter(record) is kept


def test_the_filter_is_on_celerys_loggers() -> None:
    for name in LOGGERS:
        assert any(isinstance(one, IdleSweeps) for one in logging.getLogger(name).filters)
