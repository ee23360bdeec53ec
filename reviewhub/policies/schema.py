"""The JSON Schema of a policy, for editors and for whoever writes one by program."""

from __future__ import annotations

import json
from typing import Any

from reviewhub.policies.model import Policy

ADDRESS = "/api/v1/policy/schema"


def policy_schema() -> dict[str, Any]:
    """What a policy looks like. Publishing checks more: see the reference."""
    found = Policy.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "title": "Policy of ReviewHub",
    }


def schema_text() -> str:
    """The schema as it lies in the documentation."""
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
