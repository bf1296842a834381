"""`hai list`: the table of tasks."""

from __future__ import annotations

import re
from typing import Any

import pytest

from unit.client.conftest import Hai
from unit.client.fake_platform import Refuse

pytestmark = pytest.mark.usefixtures("some_tasks")


def test_the_list_is_a_table_of_unfinished_tasks(hai: Hai, platform: Any) -> None:
    result = hai("list")
    head, row = result.out.splitlines()
    assert head.split() == ["ID", "NAME", "STATE", "PRIORITY", "NODES", "AGE", "RAN", "NOW"]
    assert row.startswith("41  digits  queued  NORMAL        2  ")
    assert row.endswith("#2: it needs 2 nodes and 1 is free")
    assert platform.said("GET", "/tasks")[-1].query == {"state": "live", "limit": "50"}


def test_gpus_that_idle_are_named_beside_the_nodes(hai: Hai, platform: Any) -> None:
    running = {"state": "running", "node_names": ["node-1", "node-2"], "verdict": None, "message": "Running."}
    platform.tasks[41].update(running, idle_gpus_since="2026-11-21T04:35:00Z")
    row = hai("list").out.splitlines()[1]
    assert re.search(r"node-1 node-2; GPUs idle since 2026-11-21 [0-9:]+$", row)
    platform.tasks[41].update(idle_gpus_since=None)
    assert hai("list").out.splitlines()[1].endswith("node-1 node-2")


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["-a"], {"limit": "50"}),
        (["--all", "--user", "bob"], {"user": "bob", "limit": "50"}),
        (["--all-users"], {"user": "*", "state": "live", "limit": "50"}),
        (["--state", "failed, running", "-n", "3"], {"state": "failed,running", "limit": "3"}),
        (["--name", "old"], {"name": "old", "limit": "50"}),
    ],
)
def test_the_list_is_narrowed_by_the_service(hai: Hai, platform: Any, words: list[str], query: dict[str, str]) -> None:
    assert hai("list", *words).code == 0
    assert platform.said("GET", "/tasks")[-1].query == query


def test_an_empty_list_says_whose_tasks_it_would_show(hai: Hai, platform: Any) -> None:
    platform.tasks.clear()
    assert hai("list").out == "no unfinished task of yours; `hai list -a` shows those that have ended\n"
    assert hai("list", "-a").out == "there is no task of yours\n"
    assert hai("list", "--name", "x").out == "no task of yours is like that\n"
    assert hai("list", "-a", "--all-users").out == "there is no task\n"


def test_a_part_of_a_name_finds_its_tasks_as_the_help_says(hai: Hai) -> None:
    assert "with this text in the name" in " ".join(hai("list", "--help").out.split())
    assert "digits" in hai("list", "--name", "IGIT").out


DEAD = "The scheduling loop has not ticked for 43 s: its log says why."


@pytest.mark.parametrize("verb", [["list"], ["list", "--state", "failed"], ["status", "digits"], ["explain", "digits"]])
def test_a_scheduler_that_decides_nothing_is_told_of_before_the_tasks(hai: Hai, platform: Any, verb: list[str]) -> None:
    usual = hai(*verb)
    assert usual.err == ""
    platform.standstill = DEAD
    told = hai(*verb)
    assert (told.code, told.out) == (0, usual.out)
    assert told.err == f"hai: nothing starts now, and running tasks go on. {DEAD}\n"


def test_a_task_that_has_ended_waits_for_no_scheduler(hai: Hai, platform: Any) -> None:
    platform.standstill = DEAD
    platform.tasks[41]["state"] = "succeeded"
    assert hai("status", "41").err == ""
    assert hai("status", "41", "--json").err == ""


def test_a_list_is_shown_where_the_health_is_not(hai: Hai, platform: Any) -> None:
    def refuse(call: Any) -> None:
        if call.path.endswith("/health"):
            raise Refuse(404, "not_found", "an older platform")

    platform.before.append(refuse)
    result = hai("list")
    assert (result.code, result.err, "digits" in result.out) == (0, "", True)
