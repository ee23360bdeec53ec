"""Addresses of the pages."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from reviewhub.web import account, decide, peek, queue, review, signin

urlpatterns: list[URLPattern | URLResolver] = [
    path("", signin.home),
    path("signin", signin.signin),
    path("signout", signin.signout),
    path("account", account.account),
    path("account/look", account.look),
    path("account/password", account.password),
    path("<slug:slug>/queue", queue.queue),
    path("<slug:slug>/requests/<int:number>", review.review),
    path("<slug:slug>/requests/<int:number>/peek", peek.peek),
    path("<slug:slug>/requests/<int:number>/value", review.value),
    path("<slug:slug>/requests/<int:number>/live", review.live),
    path("<slug:slug>/requests/<int:number>/decide", decide.decide),
    path("<slug:slug>/requests/<int:number>/ask", decide.ask),
    path("<slug:slug>/requests/<int:number>/comment", decide.comment),
    path("<slug:slug>/requests/<int:number>/claim", decide.claim),
]
