"""`hai stop`, `suspend`, `resume` and `priority`."""

from __future__ import annotations

from typing import Any

import pytest

from unit.client.conftest import Hai

pytestmark = pytest.mark.usefixtures("some_tasks")


@pytest.mark.parametrize(("verb", "end"), [("stop", "stopped"), ("suspend", "queued, held"), ("resume", "queued")])
def test_steering_says_what_became_of_each_task(hai: Hai, verb: str, end: str) -> None:
    assert hai(verb, "digits").out.startswith(f"digits (task 41) is {end}: ")


def test_a_task_that_cannot_be_steered_does_not_stop_the_others(hai: Hai, platform: Any) -> None:
    result = hai("stop", "old", "nope", "digits")
    assert result.out.startswith("digits (task 41) is stopped")
    assert result.err.splitlines() == [
        "hai: old: task 42 has ended; submit it again",
        "hai: task: 'nope' is not a task of yours; `hai list -a` shows them",
    ]
    assert result.code == 2


def test_a_priority_is_changed_by_name_or_number(hai: Hai, platform: Any) -> None:
    assert hai("priority", "digits", "30").code == 0
    assert platform.calls[-1].body == {"priority": "HIGH"}
