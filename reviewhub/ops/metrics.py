"""`/metrics` in Prometheus' text format, for whoever shows the token of the settings.

Sums since the beginning, by agent, from the rows that workers write; nothing is kept in a process, so it does not
matter which one is asked.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from reviewhub.accounts.models import Workspace
from reviewhub.audit.lag import MOST, Lag, lag
from reviewhub.hosting.goodput.queries import workers
from reviewhub.hosting.goodput.shifts import MICRO, TIMES
from reviewhub.hosting.models import Shift
from reviewhub.resumptions.queries import claimable
from reviewhub.reviews.models import ReviewRequest

HOUR = 3600
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Metric:
    """One metric with its lines: labels and value."""

    name: str
    kind: str
    help: str
    lines: Iterable[tuple[dict[str, str], float]]


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics; 404 where the settings have no token, 401 for who does not show it."""
    if not settings.METRICS_TOKEN:
        return HttpResponse("There are no metrics here.\n", status=404, content_type="text/plain")
    shown = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
    if not hmac.compare_digest(shown, settings.METRICS_TOKEN.encode()):
        refused = HttpResponse("A token is needed.\n", status=401, content_type="text/plain")
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    answer = HttpResponse("".join(written(_all())), content_type=CONTENT_TYPE)
    answer["Cache-Control"] = "no-store"
    return answer


def written(found: Iterable[Metric]) -> Iterator[str]:
    """The text of metrics."""
    for metric in found:
        name = f"reviewhub_{metric.name}"
        yield f"# HELP {name} {metric.help}\n# TYPE {name} {metric.kind}\n"
        for labels, value in metric.lines:
            said = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels.items())
            yield f"{name}{{{said}}} {value:.10g}\n" if said else f"{name} {value:.10g}\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _all() -> Iterator[Metric]:
    yield from _of_agents()
    spent = workers(seconds=HOUR)
    kinds = {"useful": spent.useful, "waiting": spent.waiting, "starved": spent.starved}
    yield Metric(
        "worker_last_hour_seconds",
        "gauge",
        "Workers' time in the last hour: with a branch, without though one waited, without since none waited.",
        [({"kind": kind}, value) for kind, value in kinds.items()],
    )
    yield Metric(
        "wakings_waiting", "gauge", "Wakings that wait for a worker now.", [({}, claimable().count())]
    )
    pending = ReviewRequest.objects.filter(state="pending").count()
    yield Metric("requests_pending", "gauge", "Requests that wait for people now.", [({}, pending)])
    yield from _of_the_record()


def _of_the_record() -> Iterator[Metric]:
    stands = [
        ({"workspace": workspace.slug}, lag(workspace.pk)) for workspace in Workspace.objects.order_by("slug")
    ]
    for name, words, value in (
        (
            "audit_unsealed_events",
            f"Events that are not sealed yet; at most {MOST}.",
            lambda one: one.waiting,
        ),
        ("audit_unsealed_seconds", "How long the oldest of them waits.", lambda one: one.seconds),
        ("audit_sealing", "1 while the sealer has its key, 0 when something stops it.", _seals),
    ):
        yield Metric(name, "gauge", words, [(labels, value(one)) for labels, one in stands])


def _seals(one: Lag) -> float:
    return float(not one.problem)


def _of_agents() -> Iterator[Metric]:
    sums = {name: Sum(f"{name}_us") for name in (*TIMES, "queue")}
    counts = {
        "lost": Count("id", filter=Q(ending__in=[Shift.Ending.LOST, Shift.Ending.FAILED])),
        "returns": Count("id", filter=Q(after_loss=True)),
        "latency": Sum("recovery_us", filter=Q(after_loss=True)),
        "tokens_paid": Sum("paid"),
        "tokens_spared": Sum("spared"),
        "all_saves": Sum("saves"),
        "shifts": Count("id"),
    }
    who = ("workspace__slug", "agent__name")
    rows = [
        ({"workspace": row[who[0]], "agent": row[who[1]]}, row)
        for row in Shift.objects.values(*who).annotate(**sums, **counts).order_by(*who)
    ]
    yield Metric(
        "shift_seconds_total",
        "counter",
        "Time of hosted runs by kind; forward progress is useful over the sum without queue.",
        [({**labels, "kind": kind}, (row[kind] or 0) / MICRO) for labels, row in rows for kind in sums],
    )
    for name, column, words in (
        ("shifts_total", "shifts", "Times that a worker took a branch."),
        ("shifts_lost_total", "lost", "Times that work since the last save was lost."),
        ("saves_total", "all_saves", "Checkpoints that workers saved."),
        ("recoveries_total", "returns", "Times that another worker went on for one that died."),
        (
            "model_tokens_paid_total",
            "tokens_paid",
            "Tokens of model calls, estimated where the provider does not say.",
        ),
        ("model_tokens_spared_total", "tokens_spared", "The same of calls whose answers were found again."),
    ):
        yield Metric(name, "counter", words, [(labels, row[column] or 0) for labels, row in rows])
    yield Metric(
        "recovery_seconds_total",
        "counter",
        "From the last sign of life of a worker that died until another one had the state.",
        [(labels, (row["latency"] or 0) / MICRO) for labels, row in rows],
    )
