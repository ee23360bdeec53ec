"""The way in: sign-in page, its files, and nothing from anywhere else."""

from __future__ import annotations

import re
from typing import Any

import httpx
from playwright.sync_api import Page, Request

from tests.cast import PASSWORD, make_cast


def test_sign_in_leads_to_the_queue(server: str, page: Page) -> None:
    make_cast()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.goto(f"{server}/")
    page.get_by_label("Email").fill("bob@example.com")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server}/northwind/start")
    assert problems == []


def test_every_file_of_the_page_comes_from_here(server: str, page: Page) -> None:
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    page.goto(f"{server}/signin")
    assert asked and all(request.url.startswith((server, "data:")) for request in asked)


def test_every_script_address_answers(server: str, settings: Any) -> None:
    html = httpx.get(f"{server}/signin").text
    addresses = re.findall(r"<script[^>]+src=\"([^\"]+)\"", html) + re.findall(
        r"<link[^>]+href=\"([^\"]+)\"", html
    )
    assert any("htmx" in address for address in addresses)
    for address in addresses:
        answer = httpx.get(f"{server}{address}")
        assert answer.status_code == 200, address
        assert answer.headers["content-type"].partition(";")[0] != "text/html", address
