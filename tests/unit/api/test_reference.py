"""docs/reference/rest.md is written from the table of routes."""

from __future__ import annotations

import re
from pathlib import Path

from hai_scheduler.api.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rest.md"


def test_the_reference_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference(), "run: python -m hai_scheduler.api.reference > docs/reference/rest.md"


def test_the_reference_page_has_no_dead_links_to_itself() -> None:
    text = reference()
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings
