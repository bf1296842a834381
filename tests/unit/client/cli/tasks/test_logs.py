"""`hai logs`: read, followed and searched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from unit.client.conftest import Hai

pytestmark = pytest.mark.usefixtures("some_tasks")


def test_logs_are_printed_as_they_were(hai: Hai, platform: Any) -> None:
    assert hai("logs", "digits").out == "a\nb\n[hai] run 2 starts\n"
    assert hai("logs", "--tail", "1", "digits").out == "[hai] run 2 starts\n"
    assert hai("logs", "digits", "-r", "3", "--run", "2").code == 0
    assert (platform.calls[-1].query["rank"], platform.calls[-1].query["run"]) == ("3", "2")


def test_following_survives_a_broken_connection_and_begins_after_the_tail(hai: Hai, platform: Any) -> None:
    platform.cut_streams = [120, 5]
    assert hai("logs", "-f", "digits").out == "a\nb\n[hai] run 2 starts\n"
    platform.tasks[41]["state"] = "running"
    assert hai("logs", "-f", "--tail", "2", "digits").out == "b\n[hai] run 2 starts\n"


def test_logs_as_json_are_one_object_a_line(hai: Hai) -> None:
    for words in (["logs", "digits"], ["logs", "-f", "digits"]):
        lines = [json.loads(line) for line in hai(*words, "--json").out.splitlines()]
        assert [(line["text"], line["rank"]) for line in lines] == [("a", 0), ("b", 0), ("[hai] run 2 starts", None)]


def test_a_text_is_searched_for(hai: Hai) -> None:
    out = hai("logs", "--search", "run", "digits").out
    assert out.splitlines()[-1].split() == ["1", "-", "[hai]", "run", "2", "starts"]
    assert hai("logs", "--search", "nothing", "digits").out == "'nothing' is nowhere in the logs\n"
