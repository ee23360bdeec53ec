"""A host that is not ours gets an answer in the right form, and one line in the log."""

from __future__ import annotations

import logging

import pytest
from django.test import Client


@pytest.mark.parametrize("host", ["evil.example", "a b", "[::", ""])
def test_an_unknown_host_is_a_problem_and_one_line(host: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer = Client().get("/api/v1/resumptions", headers={"Host": host})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["code"] == "unknown_host"
    (line,) = caplog.records
    assert (line.exc_info, line.levelname, repr(host) in line.getMessage()) == (None, "WARNING", True)
    assert "Traceback" not in caplog.text


def test_a_page_of_an_unknown_host_is_a_page(caplog: pytest.LogCaptureFixture) -> None:
    answer = Client().get("/northwind/queue", headers={"Host": "evil.example"})
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "cannot be read" in answer.content.decode()
    assert len(caplog.records) == 1
    assert "Traceback" not in caplog.text
