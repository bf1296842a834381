"""Every verb can answer in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from unit.client.conftest import Hai

pytestmark = pytest.mark.usefixtures("some_tasks")


JSON = [
    (["list"], lambda found: found["items"][0]["verdict"]["position"] == 2),
    (["status", "digits"], lambda found: found["runs"][0]["ranks"][0]["exit_code"] == 0),
    (["describe", "digits"], lambda found: set(found) >= {"name", "command", "cwd", "hold"} and "id" not in found),
    (["explain", "digits"], lambda found: found["verdict"]["holders"][0]["task_id"] == 7),
    (["forecast", "digits"], lambda found: found["assumptions"][0]["tasks"] == {"unknown": 2}),
    (["decisions", "digits"], lambda found: found == {"items": []}),
    (["logs", "--search", "a", "digits"], lambda found: found["counts"] == [{"run": 1, "rank": 0, "hits": 2}]),
    (["stop", "digits"], lambda found: found["items"][0]["state"] == "stopped"),
    (["hold", "digits"], lambda found: found["items"][0]["held"] is True),
    (["priority", "digits", "LOW"], lambda found: found["items"][0]["priority"] == "LOW"),
    (["nodes"], lambda found: found["items"][2]["ready"] is False),
    (["quota"], lambda found: found["items"][1]["limit"] is None),
    (["whoami"], lambda found: found["me"]["name"] == "alice" and found["url"].startswith("http")),
    (["admin", "drain", "node-1"], lambda found: found["items"][0]["mark"] == "draining"),
    (["admin", "pause"], lambda found: found["paused"] is True),
    (["admin", "quota", "list"], lambda found: found == {"items": []}),
    (["admin", "quota", "set", "public", "LOW", "3"], lambda found: found["limit"] == 3),
    (["quota", "set", "HIGH", "8"], lambda found: (found["limit"], found["ceiling"]) == (8, 12)),
    (["policy"], lambda found: found["numbers"][0]["common"]["value"] == "30m"),
    (["admin", "policy", "set", "slice=1h"], lambda found: found["numbers"][0]["common"]["by"] == "root"),
    (["admin", "policy", "unset", "slice"], lambda found: found["numbers"][0]["common"]["source"] == "default"),
    (["environments"], lambda found: found["items"] == []),
    (["admin", "mounts", "list"], lambda found: found == {"items": []}),
    (["admin", "mounts", "list", "--for", "alice"], lambda found: found["node_group"] == "jupyter"),
    (["admin", "mounts", "set", "d", "public", "/d", "--host-path", "/s"], lambda found: found["kind"] == "host_path"),
    (["admin", "mounts", "remove", "d"], lambda found: found == {"deleted": "d"}),
    (["admin", "environments", "list"], lambda found: found == {"items": []}),
    (["admin", "environments", "set", "t", "--for", "public"], lambda found: found["subjects"] == ["public"]),
    (["admin", "environments", "remove", "t"], lambda found: found == {"deleted": "t"}),
    (["admin", "quota", "delete", "public", "LOW"], lambda found: found["deleted"]["subject"] == "public"),
    (["admin", "user", "list"], lambda found: [user["name"] for user in found["items"]] == ["alice", "root"]),
    (["admin", "user", "add", "carol"], lambda found: found["user"]["name"] == "carol" and "token" not in found),
    (["admin", "user", "add", "carol", "--token"], lambda found: found["token"] == "made-carol"),
    (["admin", "user", "erase", "alice"], lambda found: found == {"erased": "alice"}),
    (["completion", "bash"], lambda found: found["shell"] == "bash" and "hai" in found["script"]),
    (["--version"], lambda found: "version" in found),
]


@pytest.mark.parametrize(("words", "fits"), JSON, ids=lambda item: " ".join(item) if isinstance(item, list) else "")
def test_every_verb_speaks_json(hai: Hai, words: list[str], fits: Callable[[Any], bool]) -> None:
    result = hai("--json", *words)
    assert (result.code, result.err) == (0, "")
    assert fits(json.loads(result.out))
