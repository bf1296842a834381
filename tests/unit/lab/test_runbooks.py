"""Studio has the runbooks as the documentation has them."""

from __future__ import annotations

import runbooks


def test_studio_has_the_runbooks_of_today() -> None:
    """`make reference` writes them again."""
    assert runbooks.TARGET.read_text(encoding="utf-8") == runbooks.text()


def test_each_page_is_there_and_nothing_ends_a_text_too_early() -> None:
    text = runbooks.text()
    assert text.count("\n  Hai") == len(list(runbooks.PAGES.glob("Hai*.md")))
    assert "${" not in text.replace("\\${", "")
