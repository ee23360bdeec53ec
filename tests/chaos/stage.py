"""Imported first by the server that forks actors: Django, once, for all of them."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
django.setup()
