"""The ledger on the real platform: budgets that are used up and free again, and development containers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from e2e.conftest import Platform
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.store.store import open_store
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.e2e

SIZES = """
[HaiLocalSpawner.sizes.small]
cpu = 2
memory = "1Gi"
"""
#: The loop counts budgets, and spawners tell of containers, each minute.
MINUTES = PATIENCE + 120


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Platform]:
    """A platform of one node, which a test may stop and start."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "hub.toml").write_text(SIZES)
    made = Platform(home, nodes=1, options=("--hub-config", str(home / "hub.toml")))
    try:
        made.start()
        yield made
    finally:
        made.end()


def two_days_pass(platform: Platform) -> None:
    """Make all that is in the ledger of a platform that does not run two days older."""
    later = timedelta(days=2) // timedelta(microseconds=1)

    async def pass_by() -> None:
        store = await open_store(f"sqlite:///{platform.state / 'hai.sqlite'}")
        try:
            async with store.engine.begin() as connection:
                for name in ("started_at", "ended_at"):
                    await connection.execute(text(f"UPDATE hai_ledger SET {name} = {name} - {later}"))
            hour = begin_of(Period.HOUR, datetime.now(UTC))
            async with store.write() as tx:
                await tx.ledger.recompute(hour - timedelta(days=3), hour + timedelta(hours=1))
        finally:
            await store.close()

    asyncio.run(pass_by())


def test_a_group_over_its_budget_counts_as_low_until_its_use_is_old(small: Platform) -> None:
    small.ask_hub("POST", "/groups/cv", {"users": []})
    small.token("bob")
    small.ask_hub("POST", "/groups/cv/users", {"users": ["bob"]})
    small.hai("admin", "budgets", "set", "cv", "0.0005", "node-hours", "--per", "1d")
    used = small.json("submit", "--", "sleep", "4", user="bob")["id"]
    wait_for("the task to end", lambda: small.json("status", str(used))["state"] == "succeeded")
    small.json("submit", "--", "sleep", "600")
    mine = small.json("submit", "-p", "NORMAL", "--", "sleep", "600", user="bob")["id"]

    def explained() -> dict[str, Any]:
        found: dict[str, Any] = small.json("explain", str(mine), user="bob")
        return found

    def level() -> str | None:
        found: str | None = small.json("status", str(mine), user="bob")["effective_priority"]
        return found

    wait_for("it to count as LOW", lambda: level() == "LOW", MINUTES)
    (sentence,) = explained()["budgets"]
    assert "group cv has used" in sentence
    assert "tasks of its members count as LOW" in sentence
    assert "group cv has used" in small.hai("explain", str(mine), user="bob").stdout
    small.interrupt()
    two_days_pass(small)
    small.start()
    wait_for("it to count as NORMAL", lambda: level() == "NORMAL" and explained()["budgets"] == [], MINUTES)
    # The platform may have started either of the two first; a third one waits, and is told of its user's share.
    third = small.json("submit", "-p", "NORMAL", "--", "sleep", "600", user="bob")["id"]
    share = wait_for("the share of bob", lambda: small.json("explain", str(third), user="bob")["share"])
    assert (share["user"], share["weight"]) == ("bob", 1.0)


def test_a_development_container_is_in_the_ledger(small: Platform) -> None:
    sent = {"note": "test", "auth": {"username": "ann", "password": "a long enough word"}}
    token = small.ask_hub("POST", "/users/ann/tokens", sent)["token"]
    small.ask_hub("POST", "/users/ann/server", {"profile": "small"}, token=token)

    def booked() -> dict[str, Any]:
        rows = small.json("report", "usage", "--by", "kind")["rows"]
        found: dict[str, Any] = next((row for row in rows if row["key"] == "development"), {})
        return found

    wait_for("its begin to be booked", lambda: booked().get("starts") == 1, MINUTES)
    wait_for("the server", lambda: small.ask_hub("GET", "/users/ann", token=token)["servers"][""]["ready"])
    small.ask_hub("DELETE", "/users/ann/server", token=token)
    wait_for("its end to be booked", lambda: booked()["ends"] == 1, MINUTES)
    row = booked()
    assert row["core_s"] > 2
    assert (row["starts"], row["node_s"], row["gpu_s"], row["wait_mean_s"]) == (1, 0, 0, None)
    assert "jupyter" not in [line["key"] for line in small.json("report", "nodes")["rows"]]
