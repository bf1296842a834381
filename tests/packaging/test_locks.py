"""What is pinned names packages, versions and contents; where they come from is the reader's own setting."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
#: Packages and versions to run HAI, and to develop it as well.
RUNTIME, EVERYTHING = "requirements.lock", "requirements-dev.lock"
#: Installed from this repository.
OURS = {"hai-client", "hai-env", "hai-platform", "hai-lab", "hai-slurm"}
LINE = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!]+)(?P<marker> ; [^\\]+)? \\|"
    r"    --hash=sha256:(?P<hash>[0-9a-f]{64})(?P<more> \\)?"
)
locks = pytest.mark.parametrize("lock", [RUNTIME, EVERYTHING])


def read(lock: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes by name; fails on any line of another kind."""
    found: dict[str, tuple[str, list[str]]] = {}
    name, open_ = "", False
    for line in (ROOT / lock).read_text().splitlines():
        match = LINE.fullmatch(line)
        assert match is not None, line
        if match["name"]:
            assert not open_, line
            name = normal(match["name"])
            assert name not in found, f"{name} is there twice"
            found[name] = (match["version"], [])
            open_ = True
        else:
            assert open_, line
            found[name][1].append(match["hash"])
            open_ = match["more"] is not None
    return found


@locks
def test_a_lock_holds_names_versions_and_hashes_only(lock: str) -> None:
    found = read(lock)
    assert len(found) > 50
    assert [name for name, (_, hashes) in found.items() if not hashes or len(set(hashes)) != len(hashes)] == []
    assert not OURS & found.keys()


@locks
def test_a_package_with_wheels_for_many_machines_is_pinned_for_all_of_them(lock: str) -> None:
    found = read(lock)
    assert all(len(found[name][1]) > 10 for name in ("aiohttp", "cffi", "pyyaml", "sqlalchemy"))


def test_what_is_developed_with_is_what_is_run(read_both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    runtime, everything = read_both
    assert {name: everything.get(name) for name in runtime} == runtime


def test_what_is_run_holds_no_tool_of_developers(read_both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    runtime, everything = read_both
    assert everything.keys() - runtime.keys() >= {"hypothesis", "mypy", "playwright", "pytest", "ruff"}


@pytest.fixture(scope="module")
def read_both() -> tuple[dict[str, Any], dict[str, Any]]:
    return read(RUNTIME), read(EVERYTHING)


def test_the_locks_name_every_dependency_of_the_project(read_both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    runtime, everything = read_both
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    client = tomllib.loads((ROOT / "client/pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, lines in {**extras, **{f"client {name}": lines for name, lines in client.items()}}.items():
        assert {asked(line) for line in lines} - OURS - (everything if extra == "dev" else runtime).keys() == set(), (
            extra
        )


def test_the_lock_names_what_builds_the_project_and_the_panel() -> None:
    locked = read(RUNTIME)
    for folder in (ROOT, ROOT / "client", ROOT / "client/slurm", ROOT / "lab_extension"):
        project = tomllib.loads((folder / "pyproject.toml").read_text())
        needed = [*project["build-system"]["requires"], *project["project"]["dependencies"], "editables"]
        assert {asked(line) for line in needed} - OURS - locked.keys() == set()


def test_make_installs_nothing_from_elsewhere_but_what_a_lock_names() -> None:
    text = (ROOT / "Makefile").read_text()
    # tests/unit/tools/test_install.py: with the hashes of the lock.
    assert re.search(r"^INSTALL_LOCKED := \$\(BIN\)/python tools/install\.py$", text, re.MULTILINE)
    assert re.search(r"^PIP_OURS := .*--no-deps --no-build-isolation", text, re.MULTILINE)
    used = [line for line in text.splitlines() if line.startswith("\t") and re.search(r"\$\((PIP|INSTALL)|pip ", line)]
    assert len(used) >= 5
    for line in used:
        assert re.search(r"\$\(INSTALL_LOCKED\) [a-z/-]+\.lock|\$\(PIP_OURS\)|\$\(UV_LOCK\)|uv pip compile", line), line


def asked(line: str) -> str:
    """The package that a requirement names."""
    return normal(re.split(r"[\[<>=~! ]", line)[0])


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
