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


def test_verbs_choose_tasks_by_tag_text_and_state(hai: Hai, platform: Any) -> None:
    platform.add("sweep-1", tags=["sweep"])
    result = hai("stop", "--tag", "sweep", "--state", "queued")
    assert platform.said("GET", "/tasks")[-1].query == {"tag": "sweep", "state": "queued", "limit": "200"}
    # The fake leaves out tags: what the service finds is what is stopped, and nothing that has ended.
    assert result.out.count(" is stopped: ") == 2
    assert result.code == 0
    assert hai("hold", "--text", "x", "--starred").code == 0
    asked = platform.said("GET", "/tasks")[-1].query
    assert asked == {"text": "x", "starred": "true", "state": "live", "limit": "200"}


def test_a_verb_without_tasks_is_asked_which(hai: Hai, platform: Any) -> None:
    for words, message in (
        (["stop"], "hai: task: missing; name one or more, or choose them with --tag, --text, --state or --starred\n"),
        (
            ["stop", "digits", "--tag", "x"],
            "hai: task: 'digits' is named beside --tag and the like, which choose tasks; do one of the two\n",
        ),
    ):
        result = hai(*words)
        assert (result.code, result.out, result.err) == (2, "", message)
    platform.tasks.clear()
    none = hai("stop", "--tag", "none")
    assert (none.code, none.out) == (0, "no task of yours is like that\n")
    assert hai("stop", "--tag", "none", "--json").out == '{\n  "items": []\n}\n'
