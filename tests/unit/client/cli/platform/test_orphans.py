"""`hai admin orphans`: runs that belong to no task."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Hai = Callable[..., Any]


def orphan(run: str, **more: Any) -> dict[str, Any]:
    row = {"run": run, "origin": "a1b2-1", "user": "bob", "nodes": ["node-2"], "live": True, "ending": False}
    return {**row, **more}


def test_where_there_is_none_it_says_so(hai: Hai) -> None:
    for words in (("list",), ("end", "--all")):
        assert hai("admin", "orphans", *words).out == "none: every run belongs to a task\n"


def test_they_are_listed_with_what_is_known_of_them(hai: Hai, platform: Any) -> None:
    platform.orphans = {
        "7.1": orphan("7.1"),
        "8.2": orphan("8.2", live=False, nodes=[], user=None, origin=None),
        "9.1": orphan("9.1", ending=True, nodes=["node-1", "node-3"]),
    }
    out = hai("admin", "orphans", "list").out.splitlines()
    assert [line.split() for line in out[1:]] == [
        ["7.1", "bob", "live", "node-2", "a1b2-1"],
        ["8.2", "-", "ended", "-", "-"],
        ["9.1", "bob", "ending", "node-1", "node-3", "a1b2-1"],
    ]
    assert json.loads(hai("admin", "orphans", "list", "--json").out)["items"][0]["nodes"] == ["node-2"]


def test_their_nodes_are_not_called_free(hai: Hai, platform: Any) -> None:
    platform.orphans = {"7.1": orphan("7.1")}
    out = hai("nodes").out.splitlines()
    assert [line.split()[:2] for line in out if line.startswith("node-2")] == [["node-2", "orphaned"]]
    assert "1 orphaned" in out[-1]


def test_they_are_ended_by_name_or_all(hai: Hai, platform: Any) -> None:
    platform.orphans = {run: orphan(run) for run in ("7.1", "8.2")}
    out = hai("admin", "orphans", "end", "7.1").out
    assert out == "run 7.1 on node-2 is told to end; its nodes are used again when it has\n"
    assert not platform.orphans["8.2"]["ending"]
    done = json.loads(hai("admin", "orphans", "end", "--all", "--json").out)["items"]
    assert [(one["run"], one["ending"]) for one in done] == [("7.1", True), ("8.2", True)]


def test_neither_or_both_is_wrong(hai: Hai) -> None:
    for words in ((), ("7.1", "--all")):
        done = hai("admin", "orphans", "end", *words)
        assert done.code == 2
        assert "--all" in done.err


def test_one_that_is_not_there_is_not_found(hai: Hai) -> None:
    done = hai("admin", "orphans", "end", "7.1")
    assert done.code != 0
    assert "7.1" in done.err
