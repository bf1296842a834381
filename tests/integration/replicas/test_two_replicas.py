"""Two services on one database: one schedules, and both answer."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from integration.replicas.conftest import PASSWORDS, SOON, Pair, Replica
from kit.waiting import until

#: The replicas of a module are shared, and with them the loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")

#: What depends on the moment of asking, or on who is asked.
FLEETING = {"last_tick_s", "served_s", "message", "starts_by", "seen_at"}


def lasting(answer: Any) -> Any:
    """An answer without what changes from one moment to the next."""
    if isinstance(answer, dict):
        return {name: lasting(value) for name, value in answer.items() if name not in FLEETING}
    return [lasting(value) for value in answer] if isinstance(answer, list) else answer


async def agree(one: Replica, other: Replica, path: str) -> Any:
    """The answer that both give, as soon as they give the same."""
    seen: list[Any] = []

    async def same() -> bool:
        seen[:] = [lasting(await replica.get(path)) for replica in (one, other)]
        return seen[0] == seen[1]

    try:
        await until("both to answer alike", same)
    except AssertionError:
        pytest.fail(f"{path}: {json.dumps(seen[0], indent=1)}\n!=\n{json.dumps(seen[1], indent=1)}")
    return seen[0]


@pytest.mark.parametrize("database", ["postgres", "sqlite"], indirect=True)
async def test_of_two_that_start_at_once_one_leads_and_both_answer_alike(pair: Pair) -> None:
    leader, follower = await pair.start()
    held = await follower.submit("holds", "sleep 300", nodes=2)
    await follower.wait_for(held, "running")
    waits = await leader.submit("waits", "true", nodes=2)
    explained = await until("the follower to explain the task", lambda: _explained(follower, waits))
    assert explained["verdict"]["kind"] in {"CAPACITY", "TURN"}

    for path in ("/cluster", "/nodes", "/tasks?user=*", f"/tasks/{waits}/explain", f"/tasks/{waits}/decisions", "/me"):
        await agree(leader, follower, path)
    for replica in (leader, follower):
        status, body = await replica.json("POST", "/forecast", json={"task": waits})
        assert status == 200, body

    assert (await follower.json("POST", f"/tasks/{held}/stop"))[0] == 200
    await leader.wait_for(waits, "succeeded")
    assert await pair.roles() == (leader, follower), "neither replica took the lease from the other"


async def _explained(replica: Replica, task: int) -> Any:
    told = await replica.get(f"/tasks/{task}/explain")
    return told if told.get("verdict") else None


async def test_a_notice_given_at_one_replica_is_heard_at_the_other(pair: Pair) -> None:
    leader, follower = await pair.start()
    for told, asked in ((leader, follower), (follower, leader)):
        ended = pair.folder / f"ended-at-{told.name}"
        script = f"trap '' TERM; until [ -e {ended} ]; do sleep 0.1; done"
        task = await told.submit("listens", script, grace_s=60)
        await told.wait_for(task, "running")
        run = f"{task}.1"
        polling = asyncio.create_task(
            asked.json("GET", f"/runs/{run}/notice?rank=0&seen=0&wait=30", pair.token(run), seconds=40)
        )
        # The poll waits: nothing is there to be told.
        done, _ = await asyncio.wait({polling}, timeout=0.5)
        assert not done
        began = time.monotonic()
        assert (await told.json("POST", f"/tasks/{task}/stop"))[0] == 200
        status, body = await polling
        assert (status, body["notice"]["kind"]) == (200, "stop")
        assert time.monotonic() - began < 9, "it was rung for, not found at the next look after 10 s"
        ended.touch()


async def test_the_feed_of_either_replica_tells_all(pair: Pair) -> None:
    leader, follower = await pair.start()

    async def kinds(replica: Replica, task: int) -> list[str]:
        seen: list[str] = []
        limit = aiohttp.ClientTimeout(total=SOON)
        headers = {"Authorization": "Bearer ann-token", "Accept": "text/event-stream"}
        async with replica.client.get(f"{replica.url}/events?after=0", headers=headers, timeout=limit) as stream:
            async for line in stream.content:
                if line.startswith(b"data: "):
                    data = json.loads(line[6:])
                    if data.get("task_id") == task and data["kind"] == "task.state":
                        seen.append(data["data"]["to"])
                        if seen[-1] == "succeeded":
                            return seen
        return seen

    task = await follower.submit("one", "true")
    told = await asyncio.gather(kinds(leader, task), kinds(follower, task))
    assert told[0] == told[1]
    assert told[0][0] == "starting"


async def test_without_redis_everything_goes_on_a_little_later(pair: Pair) -> None:
    leader, follower = await pair.start()
    pair.redis.kill()
    task = await follower.submit("one", pair.counting("one"))
    await follower.wait_for(task, "succeeded")
    pair.redis.start()
    again = await follower.submit("two", pair.counting("two"))
    await leader.wait_for(again, "succeeded")
    assert (pair.count("one"), pair.count("two")) == (1, 1)
    assert "Traceback" not in pair.logs()


async def test_no_password_is_on_a_command_line_or_in_a_log(pair: Pair) -> None:
    leader, follower = await pair.start()
    pair.redis.kill()
    await leader.wait_for(await follower.submit("one", "true"), "succeeded")
    for replica in (leader, follower):
        lines = [Path(f"/proc/{process.pid}/cmdline") for process in replica.processes]
        shown = [await asyncio.to_thread(line.read_text) for line in lines]
        assert len(shown) == 2
        metrics = await _text(replica, "/metrics")
        for password in PASSWORDS:
            assert password not in "".join(shown) + replica.said + metrics


async def _text(replica: Replica, path: str) -> str:
    async with replica.client.get(replica.url + path, headers={"Authorization": "Bearer ann-token"}) as response:
        assert response.status == 200
        return await response.text()


async def test_a_replica_whose_database_is_not_there_says_so_in_one_line_and_waits(pair: Pair) -> None:
    environ = pair.one.environ | {"HAI_DB_URL": "postgresql://hai:s3cret-of-postgres@127.0.0.1:1/hai"}
    alone = Replica("alone", pair.folder / "alone.log", pair.one.words, environ, pair.one.client)
    await alone.launch()

    async def waits() -> bool:
        return all("database does not answer" in log.read_text() for log in (alone.log, alone.api_log))

    try:
        await until("both processes to say what they wait for", waits)
        assert alone.up
    finally:
        assert await alone.end(signal.SIGTERM) == 0
    said = alone.said
    assert len([line for line in said.splitlines() if "cannot start yet" in line]) == 2, "one of each process"
    assert "Traceback" not in said
    assert "s3cret" not in said
