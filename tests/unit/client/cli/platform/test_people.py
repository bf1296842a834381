"""`hai admin user show|archive|restore` and the list of archived users."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Hai = Callable[..., Any]


def test_a_user_is_archived_with_a_note_and_restored(hai: Hai, platform: Any) -> None:
    done = hai("admin", "user", "archive", "alice", "--note", "left in May")
    assert done.out == (
        "alice is archived: 2 tasks of theirs are told to save and are then stopped; `hai admin user restore alice` "
        "brings them back\n"
    )
    assert platform.archived["alice"]["note"] == "left in May"
    out = hai("admin", "user", "list", "--archived").out.splitlines()
    assert out[0].split() == ["NAME", "ARCHIVED", "BY", "LAST", "SEEN", "NOTE"]
    assert (out[1].split()[0], out[1].endswith("left in May")) == ("alice", True)
    assert hai("admin", "user", "restore", "alice").out == (
        "alice may use the platform again; tasks that were stopped stay stopped\n"
    )
    assert hai("admin", "user", "list", "--archived").out == "none: no user is archived\n"
    again = hai("admin", "user", "restore", "alice")
    assert (again.code, "not archived" in again.err) == (2, True)


def test_as_json_everything_is_there(hai: Hai, platform: Any) -> None:
    assert json.loads(hai("admin", "user", "archive", "alice", "--json").out)["stopped"] == 2
    listed = json.loads(hai("admin", "user", "list", "--archived", "--json").out)["items"]
    assert [user["name"] for user in listed] == ["alice"]
    assert json.loads(hai("admin", "user", "restore", "alice", "--json").out) == {"restored": "alice"}
    assert json.loads(hai("admin", "user", "show", "alice", "--json").out)["quota"][0]["own_limit"] == 8


def test_a_user_is_shown_with_tasks_quota_and_latest_changes(hai: Hai, platform: Any) -> None:
    platform.audit = [
        {
            "number": 7, "at": "2026-11-21T04:00:00Z", "actor": "root", "action": "quota.put", "subject": "user:alice",
            "before": {"limit": 4}, "after": {"limit": 8}, "address": "10.0.0.7",
        }
    ]  # fmt: skip
    hai("admin", "user", "archive", "alice", "--note", "left")
    out = hai("admin", "user", "show", "alice").out
    for words in ("alice", "by root: left", "groups    ml", "1 task on 2 nodes", "3 tasks for 4 nodes"):
        assert words in out
    assert ["training", "HIGH", "2", "8", "16", "-", "user:alice"] in [line.split() for line in out.splitlines()]
    assert "limit: 4 -> 8" in out
    unknown = hai("admin", "user", "show", "nobody")
    assert (unknown.code, "nobody" in unknown.err) == (2, True)


def test_all_pages_of_users_are_read(platform: Any, client: Any) -> None:
    platform.users = {f"u{number}": False for number in range(5)}
    assert [user.name for user in client.users()] == ["u0", "u1", "u2", "u3", "u4"]
