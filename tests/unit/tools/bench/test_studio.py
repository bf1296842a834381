"""The clients of `bench studio` ask what the page asks; otherwise their figures would be of another page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.studio.pages import LIVE_VALUES, MIX, PAGES
from bench.studio.scene import TASKS, USERS, tasks, token, user, users

SOURCES = Path(__file__).parents[4] / "lab_extension" / "src" / "models"


@pytest.mark.parametrize("name", sorted(LIVE_VALUES))
def test_a_live_value_is_read_as_often_as_the_page_reads_it(name: str) -> None:
    source, model = (SOURCES / f"{name}.ts").read_text(), LIVE_VALUES[name]
    found = re.search(r"interval: ([\d_]+), fallback, live: (\w+) \}", source)
    assert found is not None
    assert (model.interval, model.live) == (int(found[1]) / 1000, int(found[2]) / 1000)


@pytest.mark.parametrize("name", ["cluster", "overview", "queue", "nodes"])
def test_a_live_value_is_read_again_after_the_same_events(name: str) -> None:
    source = (SOURCES / f"{name}.ts").read_text()
    found = re.search(r" /(\^.+)/\.test\(event\.kind\)", source)
    assert found is not None
    assert LIVE_VALUES[name].concerns == found[1]


def test_every_kind_of_page_is_open() -> None:
    assert set(MIX) == set(PAGES)


def test_every_user_has_tasks_and_is_known_to_the_hub() -> None:
    made = tasks()
    assert len(made) == TASKS
    assert {task.user for task in made} == {user(number) for number in range(USERS)}
    assert set(users()) == {token(task.user) for task in made}
