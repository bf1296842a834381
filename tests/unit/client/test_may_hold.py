"""What `hai admin user add` says that the new user may use."""

from __future__ import annotations

import pytest

from hai_client.cli.platform.quota import may_hold
from hai_client.constants import PRIORITIES
from hai_client.wire.schema import Quota


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
