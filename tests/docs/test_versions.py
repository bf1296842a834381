"""The page on versions has the table of the code."""

from __future__ import annotations

import re

import pytest

from docs.kit import text_of
from hai_client import skew

#: By pair: the beginning of its row.
ROWS = {
    skew.CLIENT: "`hai` and the Python client",
    skew.SUPERVISOR: "supervisors of live runs",
    skew.PANEL: "panel",
    skew.REPLICA: "processes of the service on one database",
    skew.IMAGE: "images of the chart",
}


def minors(count: int) -> str:
    return "the same version" if count == 0 else f"{count} minor{'' if count == 1 else 's'}"


@pytest.mark.parametrize("pair", skew.PROMISED)
def test_each_pair_has_its_row(pair: str) -> None:
    promised = skew.PROMISED[pair]
    row = f"\n| {ROWS[pair]} | {minors(promised.older)} | {minors(promised.newer)} |"
    assert row in text_of("docs/versions.md")


def test_no_row_is_of_something_else() -> None:
    table = re.findall(r"^\| (?!part |---)([^|]+) \|", text_of("docs/versions.md"), re.MULTILINE)
    assert sorted(table) == sorted(ROWS.values())
