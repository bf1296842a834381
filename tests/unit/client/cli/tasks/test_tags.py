"""`hai tag`, `hai star`, and lists by them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hai_client.api import Client
from unit.client.conftest import Hai

pytestmark = pytest.mark.usefixtures("some_tasks")


def test_tags_are_added_taken_away_and_shown(hai: Hai, platform: Any) -> None:
    assert hai("tag", "digits").out == "digits (task 41): no tags\n"
    assert not platform.said("PUT", "/tags")
    assert hai("tag", "digits", "b", "a", "b").out == "digits (task 41): b, a\n"
    assert hai("tag", "digits", "c", "--remove", "b").out == "digits (task 41): a, c\n"
    assert hai("tag", "digits", "new", "--clear").out == "digits (task 41): new\n"
    assert [call.body for call in platform.said("PUT", "/tags")] == [
        {"tags": ["b", "a"]}, {"tags": ["a", "c"]}, {"tags": ["new"]},
    ]  # fmt: skip
    assert json.loads(hai("tag", "digits", "--json").out)["tags"] == ["new"]


def test_a_tag_is_not_added_and_taken_away_at_once(hai: Hai, platform: Any) -> None:
    result = hai("tag", "digits", "a", "--remove", "a")
    assert (result.code, result.err) == (2, "hai: remove: 'a' is to be added as well; do one of the two\n")
    assert not platform.said("PUT", "/tags")


def test_a_star_is_given_and_taken(hai: Hai, platform: Any) -> None:
    assert hai("star", "digits").out == "digits (task 41) has your star\n"
    assert hai("star", "digits", "--remove").out == "digits (task 41) has no star of yours\n"
    assert [call.method for call in platform.calls if call.path.endswith("/star")] == ["PUT", "DELETE"]


def test_a_list_asks_the_service_for_what_is_chosen(hai: Hai, platform: Any) -> None:
    hai("list", "--tag", "sweep", "--text", "dig", "--starred", "--sort", "nodes", "--rising")
    query = platform.said("GET", "/tasks")[-1].query
    assert {name: query[name] for name in ("tag", "text", "starred", "sort", "order")} == {
        "tag": "sweep", "text": "dig", "starred": "true", "sort": "nodes", "order": "rising",
    }  # fmt: skip
    assert "state" not in query, "what is looked for may have ended"
    hai("list")
    assert platform.said("GET", "/tasks")[-1].query.keys() == {"state", "limit"}
    assert hai("list", "--sort", "colour").code == 2


def test_a_line_of_a_list_says_in_a_few_words_why_a_task_waits(hai: Hai, platform: Any) -> None:
    platform.tasks[41]["short"] = {
        "id": "turn", "data": {"nodes": 2}, "until": "2099-11-21T04:20:00Z",
        "words": "waits for its turn on 2 nodes of a100",
        "text": "waits for its turn on 2 nodes of a100, about 2099-11-21 04:20 UTC",
    }  # fmt: skip
    out = hai("list").out
    assert "#2: waits for its turn on 2 nodes of a100, about 2099-11-21" in out
    assert "UTC" not in out
    held = "held by its owner"
    platform.tasks[41]["short"] = {"id": "held", "data": {}, "until": None, "words": held, "text": held}
    assert "#2: held by its owner" in hai("list").out


def test_many_tasks_are_acted_on_with_a_result_each(client: Client, platform: Any) -> None:
    found = client.act("stop", [41, "nope"])
    assert (found.done, found.refused) == (1, 1)
    assert [(one.task, one.task_id, one.code) for one in found.items] == [("41", 41, None), ("nope", None, "not_found")]
