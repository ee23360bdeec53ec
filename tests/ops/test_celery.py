"""Celery's side: the sweeps exist, carry no arguments, and nothing but JSON ids travels."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from celery.fixups.django import DjangoWorkerFixup
from django.db import connection

from reviewhub.audit.refuse_unguarded import Unguarded, refuse_unguarded
from reviewhub.audit.testing import unguarded
from reviewhub.celery import SWEEPS, app, renew_connections


def test_every_sweep_is_a_task() -> None:
    app.loader.import_default_modules()
    assert set(SWEEPS) | set(app.conf.beat_schedule) <= set(app.tasks)


def test_a_lost_worker_loses_no_message_and_messages_are_json() -> None:
    assert app.conf.task_acks_late and app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.accept_content == ["json"] and app.conf.task_serializer == "json"


def test_a_run_whose_worker_died_is_handed_out_within_a_second_after_its_lease() -> None:
    entry = app.conf.beat_schedule["reviewhub.hosting.tasks.hand_out"]
    assert entry["schedule"] <= 1
    assert entry["options"]["expires"] >= 10, "a broker that is slow for a moment loses no sweep"


@pytest.mark.django_db(transaction=True)
def test_a_task_finds_the_connection_of_the_one_before_unless_it_is_old_or_broken() -> None:
    around, task = DjangoWorkerFixup(app), SimpleNamespace(request=SimpleNamespace(is_eager=False))
    connection.ensure_connection()
    before = connection.connection
    connection.close_at = None
    for _ in range(3):
        around.on_task_prerun(task)
        renew_connections()
        around.on_task_postrun(task)
        assert connection.connection is before
    connection.close_at = time.monotonic() - 1
    renew_connections()
    assert connection.connection is None


@pytest.mark.django_db(transaction=True)
def test_no_program_starts_where_the_record_could_be_changed() -> None:
    refuse_unguarded()
    with unguarded(), pytest.raises(Unguarded, match="audit_event"):
        refuse_unguarded()
    refuse_unguarded()
    assert connection.is_usable()
