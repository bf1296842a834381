"""`hai admin drain NODE --preview`."""

from __future__ import annotations

import json
from typing import Any

from unit.client.conftest import Hai


def test_a_drain_is_shown_before_it_is_done(hai: Hai, platform: Any) -> None:
    out = hai("admin", "drain", "node-1", "--preview").out
    assert platform.said("POST", "/nodes/preview")[-1].body == {"nodes": ["node-1"], "mark": "draining"}
    assert platform.marks == {}, "nothing is done"
    assert out.startswith("2 tasks would be told to leave this node.\n")
    rows = [line.split() for line in out.splitlines()]
    seven = next(row for row in rows if row[:1] == ["7"])
    assert seven[1:4] == ["t7", "bob", "2"]
    assert seven[-3:] == ["on", "node-3", "node-4"]
    assert next(row for row in rows if row[:1] == ["8"])[-2:] == ["ends", "first"]
    assert "They make room:" in out
    assert "They start later:" in out
    assert "and 3 more tasks" in out
    assert "Nothing was done: leave --preview out to do it." in out
    assert json.loads(hai("admin", "drain", "node-1", "--preview", "--json").out)["displaced"][0]["task_id"] == 7


def test_a_cordon_is_shown_as_one(hai: Hai, platform: Any) -> None:
    out = hai("admin", "cordon", "node-1", "node-2", "--preview").out
    assert platform.said("POST", "/nodes/preview")[-1].body == {"nodes": ["node-1", "node-2"], "mark": "cordoned"}
    assert "They go on until their runs end:" in out
    assert "away by" not in out


def test_without_the_option_it_is_done(hai: Hai, platform: Any) -> None:
    assert hai("admin", "drain", "node-1").code == 0
    assert platform.marks == {"node-1": "draining"}
    assert hai("admin", "uncordon", "node-1", "--preview").code == 2


def test_it_is_for_admins(hai: Hai, platform: Any) -> None:
    platform.admin = False
    assert hai("admin", "drain", "node-1", "--preview").code == 3
