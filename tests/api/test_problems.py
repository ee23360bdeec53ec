"""Refusals have one form, stable codes and no internals."""

from __future__ import annotations

import json
import uuid
from typing import Any

import psycopg
import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import IntegrityError, InternalError, OperationalError, connection
from django.http import Http404  # noqa: TID251  what the views raise
from pydantic import BaseModel, ConfigDict
from rest_framework import exceptions as drf
from reviewhub_agents import wire
from reviewhub_agents.canonical import BadJson, parse

from reviewhub.api.problems import handle, problem_of, respond
from reviewhub.core.errors import Conflict, Forbidden, Invalid, NotFound, StaleState, TooLarge, TryAgain


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    amount: int
    inner: dict[str, int] = {}


def bad_json(text: str) -> BadJson:
    with pytest.raises(BadJson) as raised:
        parse(text)
    return raised.value


def wrong_shape(value: Any) -> Exception:
    with pytest.raises(ValueError) as raised:
        Body.model_validate(value)
    return raised.value


@pytest.mark.parametrize(
    ("exc", "status", "code"),
    [
        (NotFound(), 404, "not_found"),
        (Forbidden(), 403, "forbidden"),
        (StaleState(), 409, "stale_state"),
        (TooLarge(), 413, "too_large"),
        (TryAgain(), 503, "try_again"),
        (Invalid.at("/a", "wrong"), 422, "invalid"),
        (Http404(), 404, "not_found"),
        (PermissionDenied(), 403, "forbidden"),
        (RequestDataTooBig(), 413, "too_large"),
        (drf.NotAuthenticated(), 401, "unauthenticated"),
        (drf.AuthenticationFailed(), 401, "unauthenticated"),
        (drf.PermissionDenied(), 403, "forbidden"),
        (drf.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (drf.UnsupportedMediaType("text/plain"), 415, "unsupported_media_type"),
        (drf.Throttled(3), 429, "slow_down"),
        (bad_json("{"), 400, "invalid_json"),
        (bad_json("[" * 200 + "]" * 200), 400, "too_deep"),
        (bad_json('{"a":1,"a":2}'), 400, "duplicate_key"),
        (bad_json("[NaN]"), 400, "not_a_number"),
        (bad_json('{"a":"\\u0000"}'), 422, "invalid"),
        (ZeroDivisionError("secret"), 500, "error"),
        (IntegrityError("secret"), 500, "error"),
    ],
)
def test_each_has_its_status_and_code(exc: Exception, status: int, code: str) -> None:
    answer = respond(exc)
    body = json.loads(answer.content)
    assert (answer.status_code, body["status"], body["code"]) == (status, status, code)
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["Cache-Control"] == "no-store"
    assert body["detail"] and body["title"] and body["type"] == "about:blank"


def test_the_handler_of_the_views_says_the_same() -> None:
    answer = handle(StaleState("Bob decided this.", by="Bob", at=uuid.UUID(int=1)), {})
    assert (answer.status_code, answer.content_type) == (409, "application/problem+json")
    assert answer.data["by"] == "Bob"


def test_extra_members_never_replace_the_standard_ones() -> None:
    body = problem_of(Conflict("words", code="mine", status=200, type="x", by="Bob")).body()
    assert (body["code"], body["status"], body["type"], body["by"]) == ("conflict", 409, "about:blank", "Bob")


def test_a_body_of_the_wrong_shape_names_its_paths() -> None:
    with pytest.raises(BadJson) as raised:
        wire.DecideBody.from_tree({"type": "approve", "version": True, "x~y": 1})
    body = problem_of(raised.value).body()
    assert (body["status"], body["code"]) == (422, "invalid")
    assert {"/version", "/digest", "/x~0y"} <= {error["path"] for error in body["errors"]}


def test_a_wrong_shape_of_our_own_is_our_own_fault() -> None:
    """Bodies are read by `wire`; what any other model refuses nobody outside can mend."""
    assert problem_of(wrong_shape({"amount": "s3cret"})).status == 500


def test_the_unforeseen_tells_a_reference_and_the_log_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    body = problem_of(ZeroDivisionError("the password is s3cret")).body()
    assert "s3cret" not in json.dumps(body)
    assert body["reference"] in caplog.text and "s3cret" in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        "database is locked",
        "database table is locked: audit_event",
        "database or disk is full",
        "attempt to write a readonly database",
        "disk I/O error",
    ],
)
def test_a_locked_or_full_database_asks_to_try_again(text: str) -> None:
    answer = respond(OperationalError(text))
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert "database" not in answer.content.decode()


def test_a_standby_that_takes_no_writes_asks_to_try_again() -> None:
    # What Django makes of psycopg's error, which is no OperationalError.
    refused = InternalError("cannot execute INSERT in a read-only transaction")
    refused.__cause__ = psycopg.errors.ReadOnlySqlTransaction()
    assert problem_of(refused).status == 503
    refused.__cause__ = psycopg.errors.InFailedSqlTransaction()
    assert problem_of(refused).status == 500


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's driver uses one class for both")
def test_a_missing_table_is_no_reason_to_try_again() -> None:
    assert problem_of(OperationalError("no such table: audit_event")).status == 500


def test_half_a_surrogate_pair_in_a_message_can_be_sent() -> None:
    answer = respond(Invalid.at("/\ud800", "wrong \udfff", "invalid"))
    assert json.loads(answer.content)["errors"][0]["message"] == "wrong \ufffd"


def test_many_errors_are_cut() -> None:
    errors = [{"path": f"/{n}", "code": "invalid", "message": "wrong"} for n in range(500)]
    assert len(problem_of(Invalid("wrong", errors=errors)).body()["errors"]) == 50
