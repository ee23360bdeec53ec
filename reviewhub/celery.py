"""Celery: how a committed change gets a worker's attention early. It carries ids and nothing that only it knows.

A message is a hint. What it points to is a row, and the sweeps below find every row whose hint was lost, so any broker
will do, also one in a folder.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun, worker_init, worker_ready
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")

from django.conf import settings

SWEEPS = (
    "reviewhub.reviews.tasks.expire_due",
    "reviewhub.reviews.tasks.escalate_due",
    "reviewhub.reviews.tasks.remind_due",
    "reviewhub.hosting.tasks.sweep",
    "reviewhub.hosting.tasks.rescue",
    "reviewhub.gates.tasks.sweep_unknown",
    "reviewhub.gates.tasks.sweep_overtime",
    "reviewhub.gates.tasks.verify_due",
    "reviewhub.deliveries.tasks.send_due",
    "reviewhub.insights.tasks.sweep",
    "reviewhub.insights.tasks.raise_alarms",
    "reviewhub.audit.tasks.seal",
)
"""What beat starts every SWEEP_SECONDS, and every worker once when it is ready."""
HAND_OUT = "reviewhub.hosting.tasks.hand_out"
HAND_OUT_SECONDS = 1
"""At most so long a run lies still after its timer, or the lease of a worker that died, has run out."""
BLOBS = "reviewhub.checkpoints.tasks.sweep_blobs"
BLOBS_SECONDS = 60
RESCUE = "reviewhub.hosting.tasks.rescue"
RESCUE_SECONDS = 60
RETENTION = "reviewhub.retention.tasks.sweep"
RETENTION_SECONDS = 300
FIGURES = "reviewhub.insights.tasks.roll_up"
FIGURES_SECONDS = 60


def _transport() -> dict[str, Any]:
    """The broker and how to reach it."""
    url: str = settings.CELERY_BROKER_URL
    if url.startswith("filesystem:"):
        folder = str(settings.VAR / "broker")
        return {
            "broker_url": "folder://localhost",
            "broker_transport_options": {
                "data_folder_in": folder,
                "data_folder_out": folder,
                "control_folder": folder,
                "polling_interval": 0.05,
            },
        }
    options: dict[str, Any] = {}
    if url.startswith(("redis:", "rediss:")):
        options = {"socket_timeout": 10, "socket_connect_timeout": 2, "visibility_timeout": 600}
    return {"broker_url": url, "broker_transport_options": options}


TRANSPORT_ALIASES["folder"] = "reviewhub.ops.filebroker:Transport"
app = Celery("reviewhub", set_as_current=True)
app.conf.update(
    **_transport(),
    task_default_queue="reviewhub",
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    # At least once: a message leaves the broker when its task ended, also when the worker died in it.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    # A request must not wait for a broker that is down: its change is committed, and a sweep will find it.
    task_publish_retry_policy={
        "max_retries": 1,
        "interval_start": 0.05,
        "interval_step": 0.1,
        "interval_max": 0.2,
    },
    broker_connection_timeout=2,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    # Else it closes the connection to the database before and after each task; see `renew_connections`.
    CELERY_DB_REUSE_MAX=sys.maxsize,
    timezone="UTC",
    # The schedule lives in memory: a sweep that is due at every start needs no file to remember it.
    beat_scheduler="celery.beat:Scheduler",
    beat_schedule={
        name: {
            "task": name,
            "schedule": settings.SWEEP_SECONDS,
            "options": {"expires": 10 * settings.SWEEP_SECONDS},
        }
        for name in SWEEPS
    }
    | {
        name: {"task": name, "schedule": seconds, "options": {"expires": max(10, seconds)}}
        for name, seconds in {
            RESCUE: RESCUE_SECONDS,
            RETENTION: RETENTION_SECONDS,
            HAND_OUT: min(HAND_OUT_SECONDS, settings.SWEEP_SECONDS),
            FIGURES: FIGURES_SECONDS,
            **({BLOBS: BLOBS_SECONDS} if settings.BLOB_STORES else {}),
        }.items()
    },
)
app.autodiscover_tasks()


@worker_init.connect
def refuse_unguarded(**_: object) -> None:
    """Ends a worker that would work on a database where the record could be changed."""
    from django.db import connection

    from reviewhub.audit import refuse_unguarded as guard

    try:
        guard.refuse_unguarded()
    except guard.Unguarded as error:
        sys.exit(str(error))  # Celery logs what else a receiver raises, and goes on
    finally:
        connection.close()


@task_prerun.connect
@task_postrun.connect
def renew_connections(**_: object) -> None:
    """Drops the thread's connections that are broken or old (`CONN_MAX_AGE`), as a request does; others stay open."""
    from django.db import close_old_connections

    close_old_connections()


@worker_ready.connect
def sweep_at_start(**_: object) -> None:
    """Looks at once for what was left behind while no worker ran."""
    for name in (*SWEEPS, FIGURES):
        app.send_task(name)
