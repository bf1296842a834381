"""Rules for every file of the repository."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from docs.kit import ROOT, files, name_of

CODE = (".py", ".ts", ".tsx", ".css", ".mjs", ".mts", ".toml")
LONGEST = 500
#: Put together, so that this file does not hold them.
FORBIDDEN = (
    "/wo" + "rk/",
    "/ro" + "ot/",
    "assist" + "ant",
    "npm" + "js.org",
    "pythonho" + "sted",
    "py" + "pi.org",
    "--index" + "-url",
    "regis" + "try=http",
)
#: haienv reads files of other tools, in which these words mean what they say.
OF_INDEXES = ("py" + "pi.org", "--index" + "-url")
#: Written by `make reference`.
GENERATED = ("client/hai_client/wire/schema.py", "lab_extension/src/api/types.ts")
#: Words that readers whose second language is English must guess; put together as well. The changelog is history.
RIDDLES = ("who" + "ever", "be" + "fell", "an" + "ew", "so " + "many", "for " + "ever")
CORE = ROOT / "scheduler_service" / "hai_scheduler" / "core"


@cache
def texts() -> list[tuple[Path, str]]:
    found = []
    for file in files():
        try:
            found.append((file, file.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def test_no_file_of_code_is_longer_than_five_hundred_lines() -> None:
    long = {name_of(file): text.count("\n") for file, text in texts() if file.suffix in CODE}
    long = {name: lines for name, lines in long.items() if name not in GENERATED}
    assert {name: lines for name, lines in long.items() if lines > LONGEST} == {}


@pytest.mark.parametrize("word", FORBIDDEN)
def test_the_repository_speaks_of_the_product_alone(word: str) -> None:
    found = [name_of(file) for file, text in texts() if word in text.lower()]
    allowed = ("haienv/haienv/sources/", "tests/unit/haienv/sources/") if word in OF_INDEXES else ()
    assert [name for name in found if not name.startswith(allowed)] == []


@pytest.mark.parametrize("word", RIDDLES)
def test_the_repository_is_written_in_plain_english(word: str) -> None:
    found = re.compile(rf"\b{word}\b", re.IGNORECASE)
    assert [name_of(file) for file, text in texts() if found.search(text)] == []


def test_a_person_can_read_what_has_changed() -> None:
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [release.partition("\n")[0] for release in releases if release.count("\n") > 60] == []


def test_no_secret_and_no_state_is_among_the_files() -> None:
    wrong = re.compile(r"\.(sqlite|db|pem|key|env|whl|log)$|(^|/)(node_modules|\.venv|labextension)/")
    assert [name_of(file) for file in files() if wrong.search(name_of(file))] == []


@pytest.mark.parametrize("module", sorted(CORE.glob("*/[a-z]*.py")), ids=lambda path: path.stem)
def test_every_module_of_the_core_is_named_by_a_test(module: Path) -> None:
    word = re.compile(rf"hai_scheduler\.core\.{module.parent.name}(\.| import [\w, ]*\b){module.stem}\b")
    assert any(word.search(text) for file, text in texts() if file.is_relative_to(ROOT / "tests"))


def test_marked_tests_are_in_the_folders_where_make_looks_for_them() -> None:
    """Every other run of the tests leaves out what has these marks: elsewhere it would never be run."""
    places = {"e2e": "e2e", "browser": "e2e", "frameworks": "frameworks", "alone": "kubernetes", "upgrade": "upgrade"}
    found = [
        (name_of(file), mark)
        for file, text in texts()
        if file.is_relative_to(ROOT / "tests") and file.suffix == ".py"
        for mark in re.findall(r"\bpytest\.mark\.(\w+)", text)
        if mark in places
    ]
    assert {mark for _, mark in found} == set(places)
    assert [name for name, mark in found if not name.startswith(f"tests/{places[mark]}/")] == []
