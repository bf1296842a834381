"""What the first version of HAI leaves in a database."""

from __future__ import annotations

import json

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.migrate import upgrade

_FIRST_TASK = text(
    "INSERT INTO hai_tasks (name, user_name, group_name, nodes, submitted_at, place, profile, grace, state, ended,"
    " held, run_number, served, suspensions, failed_starts, version, saved_at) VALUES (:name, 'alice', 'training',"
    " 2, 1000000, 7000001, 'sigterm', 120000000, 'suspended', :no, :no, 1, 5000000, 1, 0, 3, 1)"
)
_FIRST_SPEC = text(
    "INSERT INTO hai_specs (task_id, command, cwd, env, tags) VALUES (1, '[\"python\"]', '/', '{}', '[]')"
)
_FIRST_RUN = text(
    "INSERT INTO hai_runs (task_id, number, run_id, ranks, priority, started_at, ended_at, done, reason)"
    " VALUES (1, 1, '1.1', :ranks, 10, 2000000, 7000001, :no, 'turn_over')"
)
_FIRST_QUOTA = text(
    "INSERT INTO hai_quotas (subject, group_name, priority, node_limit) VALUES ('user:alice', 'training', 10, 4)"
)
_FIRST_MARK = text("INSERT INTO hai_node_marks (node, mark) VALUES ('node-1', 'cordoned')")


async def a_first_state(engine: AsyncEngine) -> None:
    """What the first version leaves: a task that has run; another one was deleted again."""
    rank = {"state": "exited", "exit_code": 143, "notified_at": None, "done": True, "message": None}
    ranks = json.dumps([{"rank": n, "node": f"node-{n}", **rank} for n in (0, 1)])
    await upgrade(engine, "0001")
    async with engine.begin() as connection:
        for name in ("one", "gone"):
            await connection.execute(_FIRST_TASK, {"name": name, "no": False})
        await connection.execute(_FIRST_SPEC)
        await connection.execute(_FIRST_RUN, {"ranks": ranks, "no": False})
        await connection.execute(_FIRST_QUOTA)
        await connection.execute(_FIRST_MARK)
        await connection.execute(text("DELETE FROM hai_tasks WHERE name = 'gone'"))
