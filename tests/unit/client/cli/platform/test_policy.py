"""`hai policy` and `hai admin policy`."""

from __future__ import annotations

import re
from typing import Any

from unit.client.conftest import Hai


def test_policy_numbers_are_shown_with_where_they_come_from(hai: Hai, platform: Any) -> None:
    platform.policy = {None: {"slice": "1h"}, "training": {"slice": "2h", "weights": {"alice": 2.0}}}
    lines = [re.split(r"  +", line.strip())[:4] for line in hai("policy").out.splitlines()[1:]]
    assert [line[:3] for line in lines] == [
        ["slice", "all", "1h"],
        ["training", "2h", lines[1][2]],
        ["min_run_per_switch", "all", "10"],
        ["weights", "all", "-"],
        ["training", "alice:2", lines[4][2]],
    ]
    assert lines[0][3].startswith("root, ")
    assert lines[2][3] == "default"
    shown = [line.split()[:3] for line in hai("policy", "--group", "a100").out.splitlines()[1:]]
    assert shown == [["slice", "a100", "1h"], ["min_run_per_switch", "a100", "10"], ["weights", "a100", "-"]]
    assert hai("policy", "--group", "b").err.startswith("hai: group: there is no node group 'b'; choose one of a100")


def test_an_admin_changes_policy_numbers(hai: Hai, platform: Any) -> None:
    out = hai("admin", "policy", "set", "slice=1h", "min_run_per_switch=5", "-g", "training").out
    assert out.splitlines() == [
        "slice is 1h in group training (admin)",
        "min_run_per_switch is 5 in group training (admin)",
    ]
    assert platform.calls[-1].body == {
        "group": "training",
        "set": {"slice": "1h", "min_run_per_switch": "5"},
        "unset": [],
    }
    assert (
        hai("admin", "policy", "unset", "slice", "-g", "training").out == "slice is 30m in group training (default)\n"
    )
    assert platform.calls[-1].body == {"group": "training", "set": {}, "unset": ["slice"]}
    result = hai("admin", "policy", "set", "slice")
    assert (result.code, result.err) == (2, "hai: 'slice' is not NAME=VALUE; write for example slice=1h\n")
    platform.admin = False
    assert hai("admin", "policy", "set", "slice=1h").code == 3


def test_one_users_weight_is_changed_and_the_others_stay(hai: Hai, platform: Any) -> None:
    platform.policy = {None: {"weights": {"alice": 2.0, "root": 3.0}}}
    assert hai("admin", "policy", "set", "weights.alice=4").code == 0
    assert platform.policy[None]["weights"] == {"alice": 4.0, "root": 3.0}
    assert hai("admin", "policy", "unset", "weights.alice").code == 0
    assert platform.policy[None]["weights"] == {"root": 3.0}
    assert hai("admin", "policy", "set", "weights=alice:1", "weights.bob=2").code == 2
    result = hai("admin", "policy", "set", "weights.nobody=2")
    assert result.err == "hai: weights: HAI has never seen a user 'nobody'\n"
