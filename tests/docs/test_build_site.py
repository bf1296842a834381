"""The site of docs/: links that leave docs/ lead to copies, and dead ones are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import build_site
from docs.kit import ROOT


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    monkeypatch.setattr(build_site, "PAGES", tmp_path / "docs")
    monkeypatch.setattr(build_site, "SITE", tmp_path / "site")
    (tmp_path / "docs").mkdir()
    (tmp_path / "site" / "more").mkdir(parents=True)
    return tmp_path / "site"


def page(path: Path, *links: str) -> Path:
    path.write_text('<h1 id="one">1</h1>' + "".join(f'<a href="{link}">x</a>' for link in links))
    return path


def test_dead_links_are_found(site: Path) -> None:
    page(site / "index.html", "more/page.html#one", "more/page.html#two", "gone.html", "#one", "https://example.org/x")
    page(site / "more" / "page.html", "../index.html", "../../../elsewhere")
    assert [found.partition(": there")[0].partition(": the page")[0] for found in build_site.dead(site)] == [
        "index.html: more/page.html#two",
        "index.html: gone.html",
        "more/page.html: ../../../elsewhere",
    ]


def test_what_a_page_links_to_outside_of_docs_is_copied(site: Path, tmp_path: Path) -> None:
    (tmp_path / "examples" / "more").mkdir(parents=True)
    (tmp_path / "examples" / "a.py").write_text("a")
    (tmp_path / "examples" / "b & c.py").write_text("b")
    one = page(site / "index.html", "../examples/a.py")
    two = page(site / "more" / "page.html", "../../examples/a.py", "../../examples", "../../gone.py", "../index.html")
    for each in (one, two):
        build_site.mend(each)
    assert 'href="source/examples/a.py"' in one.read_text()
    assert 'href="../source/examples/a.py"' in two.read_text()
    assert 'href="../source/examples/index.html"' in two.read_text()
    assert (site / "source" / "examples" / "a.py").read_text() == "a"
    assert "b &amp; c.py" in (site / "source" / "examples" / "index.html").read_text()
    assert list(build_site.dead(site)) == ["more/page.html: ../../gone.py: there is no such page"]


def test_nothing_above_the_repository_is_copied(site: Path, tmp_path: Path) -> None:
    (tmp_path.parent / "secret").write_text("x")
    one = page(site / "index.html", "../../secret")
    build_site.mend(one)
    assert not (site / "source").exists()


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text()
    assert [file.name for file in sorted(folder.glob("0*.md")) if f"({file.name})" not in listed] == []


def test_no_word_of_the_glossary_is_explained_twice() -> None:
    rows = [
        line.split("|")[1].strip()
        for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| word")
    ]
    words = [word.strip() for row in rows for word in row.split(",")]
    assert sorted(words) == sorted(set(words))
    assert len(words) > 50
