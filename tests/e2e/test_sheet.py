"""The style sheet that is served says what the one that is written says."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from playwright.sync_api import Browser

from reviewhub.web.squeeze import squeezed

# The value of a custom property is told as it is written, so the space behind a comma is left out of what is compared.
RULES = r"""sheets => sheets.map((css) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return [...sheet.cssRules].map((rule) => rule.cssText.replace(/,\s*/g, ","));
})"""


def test_a_squeezed_sheet_has_the_same_rules(browser: Browser) -> None:
    css = (Path(settings.BASE_DIR) / "static/reviewhub.css").read_text()
    with browser.new_context() as context:
        written, served = context.new_page().evaluate(RULES, [css, squeezed(css)])
    assert len(written) > 5
    assert written == served
