"""Signed-in browsers of the cast, and requests that wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from reviewhub.accounts.models import Member


@pytest.fixture
def as_() -> Callable[[Member], Client]:
    """A browser in which this member is signed in."""

    def sign_in(member: Member) -> Client:
        client = Client()
        client.force_login(member.person)
        return client

    return sign_in
