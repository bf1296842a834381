"""The style sheets of the panel."""

from __future__ import annotations

import re
from pathlib import Path

STYLE = Path(__file__).parents[3] / "lab_extension" / "style"


def test_every_style_sheet_is_imported_and_every_import_is_there() -> None:
    imported = re.findall(r"@import url\('([\w.-]+)'\);", (STYLE / "index.css").read_text())
    assert sorted(imported) == sorted(path.name for path in STYLE.glob("*.css") if path.name != "index.css")


def test_a_class_looks_the_same_wherever_it_is_used() -> None:
    homes: dict[str, set[str]] = {}
    for path in STYLE.glob("*.css"):
        for name in re.findall(r"^\.(hai-[\w-]+) \{", path.read_text(), re.MULTILINE):
            homes.setdefault(name, set()).add(path.name)
    # The sheet that is imported last would win everywhere.
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_classes_of_the_panel_begin_with_its_name() -> None:
    sheets = [path.read_text() for path in STYLE.glob("*.css")]
    plain = [re.sub(r"/\*.*?\*/|url\([^)]*\)", "", sheet, flags=re.DOTALL) for sheet in sheets]
    classes = {name for sheet in plain for name in re.findall(r"\.([A-Za-z][\w-]*)", sheet)}
    assert {name for name in classes if not name.startswith(("hai-", "jp-", "lm-"))} == set()
    assert any(name.startswith("hai-") for name in classes)
