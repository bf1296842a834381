"""Studio has the runbooks as the documentation has them, and their translations say as much."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import runbooks

LANGUAGES = runbooks.languages()
TRANSLATED = {name: folder for name, folder in LANGUAGES.items() if name != "en"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_studio_has_the_runbooks_of_today(language: str) -> None:
    """`make reference` writes them again."""
    assert (runbooks.TARGET / f"{language}.json").read_text(encoding="utf-8") == runbooks.text(LANGUAGES[language])


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_page_is_there(language: str) -> None:
    assert set(json.loads(runbooks.text(LANGUAGES[language]))) == {path.stem for path in runbooks.PAGES.glob("Hai*.md")}


def test_runbooks_are_translated_as_the_interface_is() -> None:
    catalogues = runbooks.ROOT / "lab_extension" / "hai_lab" / "locale"
    assert set(TRANSLATED) == {folder.name for folder in catalogues.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("name", [path.name for path in runbooks.pages(runbooks.PAGES)])
def test_a_translation_has_the_parts_the_commands_and_the_links_of_its_page(language: str, name: str) -> None:
    ours, theirs = runbooks.PAGES / name, TRANSLATED[language] / name
    assert _parts(theirs) == _parts(ours)
    assert _commands(theirs) == _commands(ours)
    assert _links(theirs) == _links(ours)
    assert _words(theirs) == _words(ours), "names in code stay as they are"


def _parts(page: Path) -> list[str]:
    """What kinds of lines follow each other: headings, items and paragraphs, which a translation writes in one line."""
    outside = re.sub(r"^```.*?^```$", "code", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    kinds = [re.match(r"#+ |- |code$|\S?", part) for block in outside.split("\n\n") for part in _items(block)]
    return [found.group() if found and found.group() in {"# ", "## ", "- ", "code"} else "text" for found in kinds]


def _items(block: str) -> list[str]:
    return re.split(r"\n(?=- )", block.strip())


def _commands(page: Path) -> list[str]:
    """The lines of code blocks without their comments, which are translated."""
    blocks = re.findall(r"^```$(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+# .*$", "", line) for block in blocks for line in block.splitlines()]


def _links(page: Path) -> list[str]:
    return sorted(re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")))


def _words(page: Path) -> set[str]:
    outside = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([^`]+)`", outside))
