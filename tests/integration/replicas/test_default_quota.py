"""A real service on a new database: the quota of all users, and that an admin's change of it survives restarts."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from integration.replicas.conftest import Replica
from kit.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def asked(replica: Replica, priority: str, nodes: int = 1) -> tuple[int, Any]:
    body = {"name": "asks", "command": ["true"], "cwd": "/", "nodes": nodes, "priority": priority, "hold": True}
    return await replica.json("POST", "/tasks", "bob-token", json=body)


async def test_a_new_platform_opens_what_its_setting_says_and_a_closed_one_stays_closed(single: Replica) -> None:
    single.words = [*single.words, "--HaiScheduler.default_quota=2"]
    await single.launch()
    await until("the service to lead", single.leads)
    rows = (await single.get("/quotas"))["items"]
    assert {(row["subject"], row["priority"], row["limit"]) for row in rows} == {
        ("public", level, 2) for level in ("NORMAL", "BELOW_NORMAL", "LOW")
    }
    assert (await asked(single, "NORMAL"))[0] == 201
    status, problem = await asked(single, "HIGH")
    assert status == 422
    assert "`hai admin quota set user:bob HIGH 1 --group training`" in problem["detail"]

    for row in rows:
        key = {name: row[name] for name in ("subject", "group", "priority")}
        assert (await single.json("DELETE", "/quotas", json=key))[0] == 204
    await single.end(signal.SIGTERM)
    await single.launch()
    await until("the service to lead", single.leads)
    assert (await single.get("/quotas"))["items"] == []
    status, problem = await asked(single, "AUTO")
    assert status == 422
    assert "no quota for you at any priority" in problem["detail"]
    assert "`hai admin quota set user:bob NORMAL 1 --group training`" in problem["detail"]
    assert "hai admin quota set public NORMAL 4" in single.log.read_text()
