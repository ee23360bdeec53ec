"""What a run holds besides its checkpoints: each text that an agent or a person wrote into it, and how it is emptied.

Emptied is what may say something about somebody. What stays: ids, states, times, digests and hashes, the tools' names,
who decided, and what policy answered.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Model, Q, QuerySet

from reviewhub.core.models import IdempotencyKey
from reviewhub.deliveries import folder
from reviewhub.deliveries.models import Email
from reviewhub.gates.rewrite_once import scope_of
from reviewhub.hosting.models import Record
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.resumptions.models import Failure
from reviewhub.reviews.models import Comment, FollowUp, PostReview, Question, Review, ReviewRequest
from reviewhub.runs.models import Branch, Child, Halt, Run, Words
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from reviewhub.verdicts.models import Verdict

ERASED = "Erased"
NO_PLAN = '{"assumptions":[],"steps":[]}'


@dataclass(frozen=True)
class Texts:
    """One table's rows of a run that still say something, and the columns that are emptied."""

    rows: Callable[[uuid.UUID], QuerySet[Any]]
    empty: dict[str, Any]

    def some(self, run_id: uuid.UUID, most: int) -> list[Any]:
        """The keys of at most `most` rows that are not empty yet."""
        still = Q()
        for name, value in self.empty.items():
            still |= (
                (~Q(**{name: value}) & Q(**{f"{name}__isnull": False}))
                if value is not None
                else Q(**{f"{name}__isnull": False})
            )
        return list(self.rows(run_id).filter(still).order_by("pk").values_list("pk", flat=True)[:most])

    def blank(self, run_id: uuid.UUID, keys: list[Any]) -> int:
        """Empties these rows; how many they were."""
        return self.rows(run_id).filter(pk__in=keys).update(**self.empty)


def _of(model: type[Model], path: str, **more: Any) -> Callable[[uuid.UUID], QuerySet[Any]]:
    return lambda run_id: model._default_manager.filter(**{path: run_id}, **more)


TEXTS: tuple[Texts, ...] = (
    # Guarded tables; the triggers let exactly this pass, while an erasure of the run is under way.
    Texts(_of(CallVersion, "tool_call__run_id"), {"arguments": "{}", "changes": "[]"}),
    Texts(_of(Decision, "tool_call__run_id"), {"message": "", "note": "", "value": None}),
    Texts(_of(PlanVersion, "run_id"), {"content": NO_PLAN, "statuses": "{}", "assumption": "", "reason": ""}),
    Texts(_of(StepMark, "version__run_id"), {"step": "", "note": ""}),
    Texts(
        _of(ToolCall, "run_id"),
        {"claims": "{}", "partial": None, "result": None, "error": None, "call_id": ""},
    ),
    Texts(
        _of(ReviewRequest, "run_id"),
        {"sentence": f'[["{ERASED}",0]]', "plain_sentence": ERASED, "acts_for": ""},
    ),
    Texts(_of(Review, "request__run_id"), {"message": "", "note": ""}),
    Texts(_of(Comment, "request__run_id"), {"text": ""}),
    Texts(_of(Question, "request__run_id"), {"text": ""}),
    # One that was never answered has none.
    Texts(_of(Question, "request__run_id", answer__isnull=False), {"answer": ""}),
    Texts(_of(Failure, "resumption__branch__run_id"), {"error": ""}),
    Texts(_of(Child, "branch__run_id"), {"result": "null", "error": ""}),
    Texts(_of(Halt, "branch__run_id"), {"reason": ""}),
    Texts(
        _of(PostReview, "run_id"),
        {"sentence": f'[["{ERASED}",0]]', "plain_sentence": ERASED, "note": ""},
    ),
    Texts(_of(FollowUp, "post_review__run_id"), {"note": "", "done_note": ""}),
    Texts(_of(Verdict, "run_id"), {"detail": "", "contradicts": ""}),
    Texts(_of(Words, "run_id"), {"words": ""}),
)


def forget_names(run: Run) -> None:
    """Agents name branches: one is called by its id afterwards, but for `main`."""
    branches = Branch.objects.filter(run=run)
    for branch in branches.exclude(name="main"):
        branches.filter(pk=branch.pk).update(name=str(branch.pk))


def forget_mails(run: Run) -> int:
    """Removes the e-mails about the run's requests and later looks from the outbox, sent or not; how many."""
    gone = 0
    for address, named in _addresses(run):
        rows = Email.objects.filter(workspace_id=run.workspace_id, body__contains=address)
        mine = [pk for pk, body in rows.values_list("pk", "body") if named.search(body)]
        gone += Email.objects.filter(pk__in=mine).delete()[0]
    return gone


def forget_mail_files(run: Run) -> int:
    """Removes the same from the mail folder; how many."""
    named = [found for _, found in _addresses(run)]
    return folder.forget(lambda words: any(one.search(words) for one in named)) if named else 0


def _addresses(run: Run) -> list[tuple[str, re.Pattern[str]]]:
    """The address of each of the run's requests and later looks, and what finds it and no longer one."""
    start = f"{settings.PUBLIC_URL}/{run.workspace.slug}"
    numbers = ReviewRequest.objects.filter(run=run).values_list("number", flat=True)
    looks = PostReview.objects.filter(run=run).values_list("tool_call_id", flat=True)
    named = [f"{start}/requests/{number}" for number in numbers]
    named += [f"{start}/post-review/{call}" for call in looks]
    return [(one, re.compile(rf"{re.escape(one)}(?![0-9a-f])")) for one in named]


def forget_answers(run: Run) -> int:
    """Drops what repeats of decisions and rewrites are answered, with their words; the keys stay used. How many."""
    votes = Review.objects.filter(request__run=run).values_list("member_id", "request_id").distinct()
    scopes = [f"decide:{member}:{request}" for member, request in votes.iterator(200)]
    scopes.append(scope_of(run.pk))
    gone = 0
    for at in range(0, len(scopes), 200):
        rows = IdempotencyKey.objects.filter(scope__in=scopes[at : at + 200], answer__isnull=False)
        gone += rows.update(answer=None)
    return gone


def forget_records(run: Run, most: int) -> int:
    """Removes what a hosted run recorded of its steps; how many went."""
    some = Record.objects.filter(branch__run=run).values_list("pk", flat=True)[:most]
    return Record.objects.filter(pk__in=list(some)).delete()[0]


def every(run_id: uuid.UUID, most: int) -> Iterator[tuple[Texts, list[Any]]]:
    """The first rows of each table that are to be emptied, tables without any left out."""
    for texts in TEXTS:
        if keys := texts.some(run_id, most):
            yield texts, keys
