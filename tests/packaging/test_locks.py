"""What is pinned names packages and versions; where they come from is the reader's own setting."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def test_the_python_lock_holds_names_and_versions_only() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert len(lines) > 50
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.+!]+", line)] == []


def test_the_python_lock_names_every_dependency_of_the_project_once() -> None:
    locked = [normal(line.partition("==")[0]) for line in (ROOT / "requirements.lock").read_text().splitlines()]
    assert sorted(set(locked)) == sorted(locked)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = {normal(re.split(r"[\[<>=~! ]", line)[0]) for lines in extras.values() for line in lines}
    assert asked - {"hai-platform", "hai-lab"} - set(locked) == set()


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_of_the_panel_names_no_host() -> None:
    lock = json.loads((ROOT / "lab_extension" / "package-lock.json").read_text())
    assert lock["packages"]
    assert [value for value in resolved(lock) if "//" in value] == []


def test_the_lock_of_the_panel_pins_contents() -> None:
    lock = json.loads((ROOT / "lab_extension" / "package-lock.json").read_text())
    bare = [name for name, entry in lock["packages"].items() if name and "integrity" not in entry]
    assert bare == []


def resolved(value: Any) -> Iterator[str]:
    """Every `resolved` below a value."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key == "resolved":
                yield str(below)
            yield from resolved(below)
    elif isinstance(value, list):
        for below in value:
            yield from resolved(below)
