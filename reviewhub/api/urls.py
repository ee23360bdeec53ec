"""The addresses of the API, version 1."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path, re_path
from drf_spectacular.views import SpectacularAPIView

from reviewhub.api.views import (
    branches,
    budgets,
    calls,
    checkpoints,
    control,
    events,
    goodput,
    keeping,
    pauses,
    plans,
    questions,
    requests,
    retention,
    rewrites,
    runs,
    standing,
    states,
    tools,
    verdicts,
)
from reviewhub.api.views.unknown import not_an_id, unknown

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs", runs.Runs.as_view()),
    path("runs/<uuid:run>", runs.OneRun.as_view()),
    path("runs/<uuid:run>/cancel", runs.CancelRun.as_view()),
    path("runs/<uuid:run>/halt", control.HaltRun.as_view()),
    path("runs/<uuid:run>/resume", control.ResumeRun.as_view()),
    path("runs/<uuid:run>/retention", retention.RunRetention.as_view()),
    path("runs/<uuid:run>/hold", keeping.HoldRun.as_view()),
    path("runs/<uuid:run>/release", keeping.ReleaseRun.as_view()),
    path("checkpoints/<uuid:checkpoint>/pin", keeping.PinCheckpoint.as_view()),
    path("checkpoints/<uuid:checkpoint>/unpin", keeping.UnpinCheckpoint.as_view()),
    path("runs/<uuid:run>/pauses", pauses.Pauses.as_view()),
    path("runs/<uuid:run>/observations", pauses.Observations.as_view()),
    path("runs/<uuid:run>/checkpoints", checkpoints.Checkpoints.as_view()),
    path("runs/<uuid:run>/budget", budgets.OneBudget.as_view()),
    path("runs/<uuid:run>/goodput", goodput.OneGoodput.as_view()),
    path("runs/<uuid:run>/plans", plans.Plans.as_view()),
    path("runs/<uuid:run>/plans/<int:version>", plans.OnePlan.as_view()),
    path("runs/<uuid:run>/plans/<int:version>/marks", plans.Marks.as_view()),
    path(
        "runs/<uuid:run>/plans/<int:version>/difference/<int:other_version>", plans.PlanDifferences.as_view()
    ),
    path("runs/<uuid:run>/plans/<int:version>/restore", plans.RestorePlan.as_view()),
    path("pauses/<uuid:pause>", pauses.OnePause.as_view()),
    path("tool-calls/<uuid:call>", calls.OneCall.as_view()),
    path("tool-calls/<uuid:call>/policy", calls.Why.as_view()),
    path("tool-calls/<uuid:call>/consume", calls.Consume.as_view()),
    path("tool-calls/<uuid:call>/progress", calls.Progress.as_view()),
    path("tool-calls/<uuid:call>/outcome", calls.Outcome.as_view()),
    path("tool-calls/<uuid:call>/withdraw", calls.Withdraw.as_view()),
    path("checkpoints/<uuid:checkpoint>", checkpoints.OneCheckpoint.as_view()),
    path("checkpoints/<uuid:checkpoint>/difference/<uuid:other>", checkpoints.Differences.as_view()),
    path("checkpoints/<uuid:checkpoint>/blame", checkpoints.Blame.as_view()),
    path("checkpoints/<uuid:checkpoint>/find", checkpoints.Find.as_view()),
    path("checkpoints/<uuid:checkpoint>/fork", checkpoints.Fork.as_view()),
    path("checkpoints/<uuid:checkpoint>/rewrite", rewrites.Rewrite.as_view()),
    path("branches/<uuid:branch>/claim", branches.Claim.as_view()),
    path("branches/<uuid:branch>/heartbeat", branches.Heartbeat.as_view()),
    path("runs/<uuid:run>/limits", control.RunLimits.as_view()),
    path("branches/<uuid:branch>/retry", control.RetryBranch.as_view()),
    path("branches/<uuid:branch>/signals", verdicts.Signals.as_view()),
    path("tool-calls/<uuid:call>/verdicts", verdicts.Verdicts.as_view()),
    path("runs/<uuid:run>/plans/ask", verdicts.AskPlan.as_view()),
    path("branches/<uuid:branch>/enter", branches.Enter.as_view()),
    path("branches/<uuid:branch>/finish", branches.Finish.as_view()),
    path("branches/<uuid:branch>/fail", branches.Fail.as_view()),
    path("branches/<uuid:branch>/sleep", branches.Sleep.as_view()),
    path("branches/<uuid:branch>/tool-calls", branches.ToolCalls.as_view()),
    path("branches/<uuid:branch>/records", branches.AllRecords.as_view()),
    path("branches/<uuid:branch>/handover", branches.Handover.as_view()),
    path("branches/<uuid:branch>/records/<path:key>", branches.Records.as_view()),
    path("resumptions", branches.Resumptions.as_view()),
    path("tools/<path:name>", tools.OneTool.as_view()),
    path("states/<path:name>/<int:version>", states.OneState.as_view()),
    path("policy/explain", tools.Explain.as_view()),
    path("policy/schema", tools.PolicySchema.as_view()),
    path("questions", questions.Questions.as_view()),
    path("questions/<uuid:question>/answer", questions.AnswerQuestion.as_view()),
    path("requests", requests.Requests.as_view()),
    path("requests/decide", requests.BulkDecide.as_view()),
    path("requests/<uuid:request_id>", requests.OneRequest.as_view()),
    path("requests/<uuid:request_id>/decide", requests.Decide.as_view()),
    path("requests/<uuid:request_id>/claim", requests.Claim.as_view()),
    path("requests/<uuid:request_id>/release", requests.Release.as_view()),
    path("requests/<uuid:request_id>/comment", requests.Comments.as_view()),
    path("requests/<uuid:request_id>/ask", requests.Ask.as_view()),
    path("requests/<uuid:request_id>/reveal", requests.Reveal.as_view()),
    path("standing-approvals", standing.StandingApprovals.as_view()),
    path("standing-approvals/<uuid:standing>/revoke", standing.RevokeStanding.as_view()),
    path("retention", retention.Retention.as_view()),
    path("retention/dry-run", retention.DryRun.as_view()),
    path("retention/erase", retention.Erase.as_view()),
    path("events", events.Events.as_view()),
    path("schema", SpectacularAPIView.as_view(authentication_classes=[], permission_classes=[])),
]
# The same addresses with any text for an id: what is wrong is the id then, and not the address.
urlpatterns += [
    path(str(one.pattern).replace("<uuid:", "<str:"), not_an_id)
    for one in list(urlpatterns)
    if "<uuid:" in str(one.pattern)
]
urlpatterns.append(re_path("", unknown))
