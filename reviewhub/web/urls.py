"""Addresses of the pages."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from reviewhub.web import account, queue, signin

urlpatterns: list[URLPattern | URLResolver] = [
    path("", signin.home),
    path("signin", signin.signin),
    path("signout", signin.signout),
    path("account", account.account),
    path("account/look", account.look),
    path("account/password", account.password),
    path("<slug:slug>/queue", queue.queue),
]
