"""Quota as users and admins write and read it, and what `hai admin user add` says of it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from hai_client.cli.platform.quota import may_hold
from hai_client.constants import PRIORITIES
from hai_client.wire.schema import Quota
from unit.client.conftest import Hai


def row(subject: str, priority: str, limit: int | None, *, group: str = "training", expired: bool = False) -> Quota:
    return Quota(subject=subject, group=group, priority=priority, limit=limit, expired=expired)


def everything(limit: int | None) -> list[Quota]:
    return [row("public", level, limit) for level in PRIORITIES]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "bob may hold no node yet: `hai admin quota set user:bob NORMAL 4` gives some"),
        ([row("public", "LOW", 0), row("user:ann", "HIGH", 3)], "bob may hold no node yet"),
        ([row("public", "LOW", 3, expired=True)], "bob may hold no node yet"),
        (everything(None), "any number of nodes of training at every priority: `hai admin quota set user:bob ...`"),
        ([row("public", "LOW", 4), row("public", "NORMAL", 4)], "4 nodes of training at each of NORMAL, LOW"),
        ([row("public", "LOW", None), row("group:ml", "LOW", 2)], "hold 2 nodes of training at LOW"),
        ([row("group:ml", "LOW", 2), row("group:cv", "LOW", None)], "hold any number of nodes of training"),
        ([row("group:ml", "LOW", None), row("user:bob", "LOW", 1)], "hold 1 node of training"),
        (
            [row("public", "LOW", 4), row("public", "LOW", 1, group="big")],
            "1 node of big at LOW; 4 nodes of training at LOW",
        ),
    ],
    ids=["none", "nought", "expired", "all", "two levels", "a group", "two groups", "own", "two node groups"],
)
def test_it_is_what_the_scheduler_would_count(rows: list[Quota], said: str) -> None:
    assert said in may_hold("bob", ["ml", "cv"], rows)


def test_an_admin_writes_and_removes_quota(hai: Hai, platform: Any) -> None:
    assert hai("admin", "quota", "set", "user:alice", "high", "8").out == (
        "user:alice may hold at most 8 nodes of training at HIGH\n"
    )
    assert hai("admin", "quota", "set", "group:ml", "LOW", "none", "-g", "a100").code == 0
    row = {"subject": "group:ml", "group": "a100", "priority": "LOW", "limit": None}
    assert platform.calls[-1].body == {**row, "ceiling": None, "expires_at": None}
    assert [line.split() for line in hai("admin", "quota", "list").out.splitlines()[1:]] == [
        ["group:ml", "a100", "LOW", "unlimited", "-", "-"],
        ["user:alice", "training", "HIGH", "8", "-", "-"],
    ]
    hai("admin", "quota", "delete", "user:alice", "HIGH")
    assert len(platform.quotas) == 1


def test_a_row_of_quota_has_a_ceiling_and_an_end(hai: Hai, platform: Any) -> None:
    time = "2030-12-31T18:00:00+00:00"
    out = hai("admin", "quota", "set", "total:ml", "HIGH", "8", "--ceiling", "16", "--until", time).out
    assert platform.calls[-1].body["ceiling"] == 16
    assert platform.calls[-1].body["expires_at"] == "2030-12-31T18:00:00Z"
    assert re.fullmatch(r"total:ml may hold at most 8 nodes .* until 203\d-.*; users may raise .* up to 16\n", out)
    platform.quotas[0]["expired"] = True
    assert hai("admin", "quota", "list").out.endswith(" (expired)\n")
    for words, text in (
        (["--until", "soon"], "until: 'soon' is not a time"),
        (["--for", "soon"], "for: 'soon' is not a length of time"),
        (["--for", "1d", "--until", time], "not allowed with"),
    ):
        result = hai("admin", "quota", "set", "public", "HIGH", "8", *words)
        assert (result.code, text in result.err) == (2, True), result.err


def test_a_day_ends_at_its_end_and_a_length_begins_now(hai: Hai, platform: Any) -> None:
    for words, low, high in ((["--until", "2030-12-31"], None, None), (["--for", "7d"], 7, 7.1)):
        hai("admin", "quota", "set", "public", "HIGH", "8", *words)
        end = datetime.fromisoformat(platform.calls[-1].body["expires_at"])
        if low is None:
            assert end.astimezone().replace(tzinfo=None) == datetime(2031, 1, 1)  # noqa: DTZ001 - as on the wall here
        else:
            assert low - 0.1 < (end - datetime.now(UTC)).total_seconds() / 86_400 < high


def test_a_name_that_no_user_has_is_warned_of_and_the_row_is_written(hai: Hai, platform: Any) -> None:
    result = hai("admin", "quota", "set", "user:stranger", "HIGH", "8")
    assert (result.code, result.err) == (0, "hai: HAI has never seen a user 'stranger'\n")
    assert len(platform.quotas) == 1


def test_a_user_raises_their_own_quota_up_to_the_ceiling(hai: Hai, platform: Any) -> None:
    assert hai("quota", "set", "high", "8").out == "you may hold 8 nodes of training at HIGH, and hold 2\n"
    assert platform.calls[-1].body == {"group": "training", "priority": "HIGH", "limit": 8}
    result = hai("quota", "set", "HIGH", "13", "--group", "a100")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("hai: limit: 13 is more than 12")
    assert "12" in hai("quota").out.splitlines()[2].split()
