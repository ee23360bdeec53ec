"""How long the files of tests take, so that parts of them end together (`--part`)."""

from __future__ import annotations

from pathlib import Path

# Seconds of a busy core, the mean of both databases; only those that take much longer than their size says. Whoever
# makes a file much longer or shorter measures it again: `pytest --durations=0 --durations-min=0.02`.
MEASURED = {
    "hosting/test_store_contract.py": 51,
    "test_migrations.py": 43,
    "web/test_access.py": 43,
    "ops/test_up.py": 41,
    "hosting/test_demo.py": 36,
    "web/test_review.py": 29,
    "web/test_forms.py": 26,
    "retention/test_erase.py": 24,
    "checkpoints/test_properties.py": 24,
    "web/test_queue.py": 23,
    "hosting/test_children.py": 20,
    "api/test_access.py": 18,
    "web/test_checkpoints.py": 17,
    "reviews/test_sign_off.py": 17,
    "standing/test_standing.py": 17,
    "limits/test_limits.py": 16,
    "gates/test_acting.py": 16,
    "gates/test_texts.py": 16,
    "api/test_limits.py": 16,
    "cases/test_b23_one_commit.py": 16,
    "hosting/test_resume.py": 15,
    "gates/test_races.py": 15,
    "hosting/test_broker_away.py": 15,
    "live/test_slow_bodies.py": 14,
    "gates/test_repeats.py": 13,
    "retention/test_command.py": 13,
    "web/test_insights.py": 12,
    "cases/test_b44_own_calls.py": 12,
    "web/test_handing.py": 12,
    "web/test_words.py": 12,
    "retention/test_prune.py": 12,
    "cases/test_b28_unknown_tools.py": 12,
    "checkpoints/test_killed.py": 12,
    "cases/test_b44_more_ways.py": 12,
    "web/test_answering.py": 11,
    "hosting/test_lost_answers.py": 11,
    "api/test_events.py": 10,
    "hosting/test_database_away.py": 9,
    "web/test_many.py": 8,
    "cases/test_b01_characters.py": 8,
    "test_documented_agents.py": 7,
    "cases/test_b28_more_unknowns.py": 6,
}
SECONDS_FOR_A_BYTE = 0.56 / 1000


def seconds_of(name: Path, path: Path) -> float:
    """About how long the file at `path` takes, which is called `name` below the folder of all tests."""
    return MEASURED.get(str(name), SECONDS_FOR_A_BYTE * path.stat().st_size)
