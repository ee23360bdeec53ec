"""What the database says happened, as one JSON object: `python -m tests.chaos.books AGENT`.

Run in the environment of an installation, beside its server.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Any

import django


def books(agent: str) -> dict[str, Any]:
    """Counts of one agent's runs, and every call that breaks a promise."""
    from reviewhub.resumptions.models import Resumption
    from reviewhub.reviews.models import ReviewRequest
    from reviewhub.runs.models import Branch, Run
    from reviewhub.toolcalls.models import Attempt, Pause, ToolCall

    gated = ToolCall.objects.filter(agent__name=agent, mode="gated").prefetch_related("decisions", "attempts")
    return {
        "runs": Counter(Run.objects.filter(agent__name=agent).values_list("state", flat=True)),
        "other_runs": Counter(Run.objects.exclude(agent__name=agent).values_list("state", flat=True)),
        "calls": Counter(call.state for call in gated),
        "attempts": Attempt.objects.filter(tool_call__in=gated).count(),
        "decisions": Counter(one.type for call in gated for one in call.decisions.all()),
        "broken": [word for call in gated for word in broken(call)],
        "left": {
            "pauses": Pause.objects.filter(state="waiting").count(),
            "requests": ReviewRequest.objects.filter(state="pending").count(),
            "resumptions": Resumption.objects.open().count(),
            "branches": Branch.objects.filter(state__in=["running", "paused", "resuming"]).count(),
        },
    }


def broken(call: Any) -> list[str]:
    """What is wrong with one call: it started without leave, too often, or ended without a start."""
    types = Counter(one.type for one in call.decisions.all())
    allowed = types["approve"] + types["edit"] + types["policy_allow"] + types["did_not_happen"]
    starts = [one.number for one in call.attempts.all()]
    wrong = []
    if len(starts) > allowed:
        wrong.append(f"{call.pk}: {len(starts)} starts, {allowed} times allowed {dict(types)}")
    if sorted(starts) != list(range(1, call.attempt + 1)):
        wrong.append(f"{call.pk}: attempt {call.attempt}, starts {starts}")
    if call.state in {"succeeded", "failed"} and not starts:
        wrong.append(f"{call.pk}: {call.state} without a start")
    return wrong


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
    django.setup()
    print(json.dumps(books(sys.argv[1])))
