"""Links in pages lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.kit import anchors, name_of, pages, prose

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def dead(page: Path, text: str) -> list[str]:
    found = []
    for link in _LINK.findall(prose(text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            found.append(f"{link}: there is no such file")
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            found.append(f"{link}: the page has no such heading")
    return found


#: Translated runbooks have the links of their English pages: tests/unit/lab/test_runbooks.py.
TRANSLATED = Path("lab_extension/runbooks")


@pytest.mark.parametrize(
    "page", [page for page in pages() if not Path(name_of(page)).is_relative_to(TRANSLATED)], ids=name_of
)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_pages_that_are_named_in_passing_exist(page: Path) -> None:
    named = re.findall(r"(?<![\w/.-])(?:docs|examples|client|hub_config)/[\w/.-]+\.(?:md|py|yml)", page.read_text())
    root = pages()[0].parent
    assert [name for name in named if not (root / name).exists()] == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One Heading\n")
    text = "[a](#one-heading) [b](#two) [c](gone.md) [d](page.md#one-heading) [e](https://example.org/x)"
    assert [found.partition(":")[0] for found in dead(page, text)] == ["#two", "gone.md"]
