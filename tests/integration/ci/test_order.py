"""Tests that take long begin first, and what is said to be long is there."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


@pytest.fixture
def root(pytestconfig: pytest.Config) -> object:
    """The conftest of all tests."""
    found = pytestconfig.pluginmanager.getplugin(str(TESTS / "conftest.py"))
    assert found is not None
    return found


def test_what_takes_longest_is_there(root) -> None:
    assert [name for name in root.LONGEST if not (TESTS / name).exists()] == []


def test_the_longest_comes_first_and_a_file_before_its_folder(root) -> None:
    words = ("core/test_x.py", "integration/hub/test_x.py", "integration/replicas/test_x.py")
    paths = [TESTS / word for word in (*words, "integration/replicas/test_takeover.py")]
    assert sorted(paths, key=root.rank_of) == [paths[3], paths[2], paths[1], paths[0]]
    assert root.rank_of(Path("/elsewhere/test_x.py")) == root.rank_of(paths[0])
