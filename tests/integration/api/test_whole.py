"""The interface around the real scheduler: what users read while a task of higher priority takes their nodes."""

from __future__ import annotations

from kit.waiting import until

TASK = {"command": ["python", "train.py"], "cwd": "/w", "nodes": 2}


async def test_a_user_reads_why_their_task_lost_its_nodes_and_when_it_goes_on(platform) -> None:
    world, cycle = platform

    async def tick_until(ref: str, state: str, who: str = "alice") -> dict:
        async def look() -> dict:
            await cycle.tick()
            return (await world.json("GET", f"/tasks/{ref}", who))[1]

        return await until(f"task {ref} to be {state}", look, met=lambda task: task["state"] == state)

    async with world.stream("/events?after=0") as feed:
        await world.json("POST", "/tasks", json={**TASK, "name": "low", "priority": "NORMAL"})
        low = await tick_until("low", "running")
        assert low["node_names"] == ["node-1", "node-2"]
        high = (await world.json("POST", "/tasks", "bob", json={**TASK, "name": "high", "priority": "HIGH"}))[1]
        await tick_until("high", "running", "bob")

        low = await tick_until("low", "suspended")
        assert (low["reason"], low["suspensions"]) == ("preempted", 1)
        assert low["verdict"]["kind"] == "CAPACITY"
        assert low["runs"][0]["notice"]["beneficiary"] == high["id"]
        me = (await world.json("GET", "/me", "bob"))[1]
        assert [row["used"] for row in me["quota"] if row["priority"] == "HIGH"] == [2]

        await world.json("POST", "/tasks/high/stop", "bob")
        await tick_until("high", "stopped", "bob")
        await tick_until("low", "running")
        log = [line["text"] for line in (await world.json("GET", "/tasks/low/logs"))[1]["lines"]]
        marks = [text for text in log if text.startswith("--")]
        assert marks[0] == "-- run 1 started on node-1, node-2 --"
        assert marks[1].startswith("-- run 1 suspended at ")
        assert f"a task of higher priority needed its nodes (task {high['id']})" in marks[1]
        assert marks[2] == "-- run 2 started on node-1, node-2 --"

        states = []
        async for kind, _, data in feed:
            assert data.get("user") != "bob"
            if kind == "task.state":
                states.append(data["data"]["to"])
            if states.count("running") == 2:
                break
        assert states == ["starting", "running", "suspending", "suspended", "starting", "running"]
