"""What goes away is a table of docs/deprecations.md: rows keep the rule, and none is there whose version is reached."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import takewhile

import pytest

from docs.kit import text_of
from hai_client.skew import numbers

HEAD = "| what | said in | gone in | not before | instead |\n|---|---|---|---|---|\n"
MINORS, MONTHS = 2, 4


def rows(page: str) -> list[list[str]]:
    below = page.partition(HEAD)[2]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in takewhile(lambda line: line.startswith("|"), below.splitlines())
    ]


def released(changelog: str) -> dict[str, date]:
    """The days of the releases, by version."""
    found = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE)
    return {version: date.fromisoformat(day) for version, day in found}


def wrong(page: str, version: str, days: Mapping[str, date]) -> Iterator[str]:
    """Yield what is wrong with the table, where the tree is at this version."""
    for what, said, gone, before, instead in rows(page):
        said_in, gone_in, now = numbers(said), numbers(gone), numbers(version)
        assert said_in
        assert gone_in
        assert now
        if now >= gone_in:
            yield f"{what}: {version} is at {gone}: remove it, and its row"
        if gone_in[0] == said_in[0] and gone_in[1] < said_in[1] + MINORS:
            yield f"{what}: {gone} is less than {MINORS} minors after {said}"
        if said in days and date.fromisoformat(before) < _months_later(days[said]):
            yield f"{what}: {before} is less than {MONTHS} months after {said}"
        if not instead:
            yield f"{what}: say what to use instead, or that nothing replaces it"


def _months_later(day: date) -> date:
    years, month = divmod(day.month - 1 + MONTHS, 12)
    return date(day.year + years, month + 1, min(day.day, 28))


def test_the_table_keeps_the_rule_and_has_nothing_that_should_be_gone() -> None:
    page, version = text_of("docs/deprecations.md"), tomllib.loads(text_of("pyproject.toml"))["project"]["version"]
    assert HEAD in page
    assert list(wrong(page, version, released(text_of("CHANGELOG.md")))) == []
    assert ("Nothing does at present." in page) == (not rows(page))


@pytest.mark.parametrize(
    ("row", "version", "said"),
    [
        ("0.2.0 | 0.4.0 | 2027-07-01 | `--new`", "0.3.9", []),
        (
            "0.2.0 | 0.4.0 | 2027-07-01 | `--new`",
            "0.4.0.dev1",
            ["--old: 0.4.0.dev1 is at 0.4.0: remove it, and its row"],
        ),
        ("0.2.0 | 0.4.0 | 2027-07-01 | `--new`", "0.5.0", ["--old: 0.5.0 is at 0.4.0: remove it, and its row"]),
        ("0.2.0 | 0.3.0 | 2027-07-01 | `--new`", "0.2.1", ["--old: 0.3.0 is less than 2 minors after 0.2.0"]),
        ("0.2.0 | 0.4.0 | 2027-06-30 | `--new`", "0.2.1", ["--old: 2027-06-30 is less than 4 months after 0.2.0"]),
        ("0.2.0 | 0.4.0 | 2027-07-01 |", "0.2.1", ["--old: say what to use instead, or that nothing replaces it"]),
        ("0.9.0 | 1.0.0 | 2027-07-01 | `--new`", "0.9.1", []),
    ],
)
def test_a_row_that_breaks_the_rule_is_named(row: str, version: str, said: list[str]) -> None:
    page = f"# Versions\n\n{HEAD}| --old | {row} |\n\nMore.\n"
    assert list(wrong(page, version, released("## 0.2.0 (2027-03-01)\n"))) == said


def test_four_months_end_in_the_next_year_too() -> None:
    assert (_months_later(date(2027, 10, 31)), _months_later(date(2027, 8, 1))) == (
        date(2028, 2, 28),
        date(2027, 12, 1),
    )
