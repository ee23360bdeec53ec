"""The figures at the head of the page of insights."""

from __future__ import annotations

import uuid
from datetime import date

import pytest

from reviewhub.insights.figures import Asked, Figures, Outcomes
from reviewhub.insights.work import Work
from reviewhub.web.insight_charts import kpis

NOTHING = Outcomes()
ASKED = Asked(workspace_id=uuid.UUID(int=1), first=date(2026, 1, 1), last=date(2026, 1, 30))


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (Work(), "–"),
        (Work(useful=0.3, overhead=4.6), "–"),  # as on the run page: too little to say anything
        (Work(useful=57.0, overhead=3.0), "95.0%"),
    ],
)
def test_forward_progress_is_told_of_a_minute_of_work_and_more(work: Work, said: str) -> None:
    found = Figures(asked=ASKED, total=NOTHING, before=NOTHING, by_day={}, by={}, paths=[])
    progress = kpis(found, [], work, Work())[-1]
    assert (progress.name, progress.value) == ("Forward progress", said)
