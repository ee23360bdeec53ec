"""All that an admin should look at before a policy is published."""

from __future__ import annotations

import uuid

from reviewhub.policies.reading import Caution, cautions
from reviewhub.policies.rules import Policy
from reviewhub.policies.staffing import dead_ends, understaffed
from reviewhub.tools.models import Tool


def all_cautions(policy: Policy, workspace_id: uuid.UUID) -> list[Caution]:
    """What is legal and probably not meant, in the order of the rules."""
    names = Tool.objects.filter(workspace_id=workspace_id).values_list("name", flat=True).distinct()
    found = cautions(policy, tools=names.filter(registered_at__isnull=False), seen=names)
    found += understaffed(policy, workspace_id)
    found += dead_ends(policy, workspace_id)
    return sorted(found, key=lambda caution: (caution.layer, caution.position))
