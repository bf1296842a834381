"""docs/support.md says what tests use: it is written from a table, and a run of CI has what the table says."""

from __future__ import annotations

import os
import re

import pytest

from ci import support
from kit import schemas


def test_the_page_is_that_of_the_table() -> None:
    assert support.PAGE.read_text(encoding="utf-8") == support.page(), "PYTHONPATH=tools .venv/bin/python -m ci.support"


def test_what_a_lock_names_is_read_there() -> None:
    locked = support.locked()
    for name in ("jupyterhub", "jupyterlab", "jupyterhub-kubespawner"):
        assert f"| {locked[name]} (`{support.asked()[name]}`) |" in support.page()


def test_objects_are_tried_against_the_newest_schemas_there_are() -> None:
    assert (schemas.VERSIONS[0], schemas.VERSIONS[-1]) == support.SCHEMAS, "write the newest into tools/ci/support.py"


@pytest.mark.skipif("CI" not in os.environ, reason="CI is not set: other versions than those of CI are no fault here")
def test_a_run_of_ci_has_what_the_page_says() -> None:
    assert support.others() == []


@pytest.mark.parametrize(
    ("version", "wrong"),
    [("3.11.2", False), ("3.11", False), ("3.12.1", True), ("3.1.11", True), ("13.11.0", True), ("3.110.0", True)],
)
def test_another_version_is_named_with_the_file_to_change(version: str, wrong: bool) -> None:
    said = support.others(lambda: {"Python": version})
    assert said == ([f"Python is {version} here, and 3.11 in support.py: write it there"] if wrong else [])


def test_what_is_here_is_asked_for_by_its_whole_version() -> None:
    here = support.running()
    assert {"Python", "SQLite"} <= set(here) <= set(support.IN_CI)
    assert [version for version in here.values() if not re.fullmatch(r"\d+(\.\d+)+", version)] == []


def test_a_program_that_is_not_there_is_left_out() -> None:
    assert support._said("/none/helm", "version") == ""
