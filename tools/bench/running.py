"""Trivial tasks, which show the platform's own cost of a task."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from bench.figures import Report
from bench.rest import storm
from e2e.conftest import Platform
from hai_client import Client
from kit.waiting import wait_for

TOPIC = "trivial tasks (`true`)"
TASKS, ALONE = 200, 10


def measure(report: Report, platform: Platform) -> None:
    client = platform.client()
    _alone(report, platform, client)
    rate = _many(platform, client)
    nodes = platform.nodes
    report.add(TOPIC, f"{TASKS} tasks on {nodes} nodes", rate, "/s", "from the end of a pause to the last exit")
    bare = _bare(["true"], nodes)
    report.add(TOPIC, f"bare `true`, {nodes} at once", bare, "/s", "for comparison")
    report.add(TOPIC, "tasks to bare `true`", rate / bare, "", "ratio of rates")
    python = _bare([sys.executable, "-ISc", "pass"], nodes)
    report.add(TOPIC, f"bare `python -ISc pass`, {nodes} at once", python, "/s", "for comparison")
    report.add(TOPIC, "tasks to bare `python -ISc pass`", rate / python, "", "ratio of rates; a supervisor is one")


def _alone(report: Report, platform: Platform, client: Client) -> None:
    """Measure tasks one after the other on an idle cluster."""
    took = []
    for number in range(ALONE):
        submitted = time.time()
        took.append(_ended(client, _submit(platform, 1, f"alone-{number}"), TASKS)[0].timestamp() - submitted)
    report.spread(TOPIC, "one on an idle cluster, submission to exit", took)


def _many(platform: Platform, client: Client) -> float:
    client.pause()
    tasks = _submit(platform, TASKS, "many")
    time.sleep(2)
    began = time.time()
    client.unpause()
    last = max(_ended(client, tasks, TASKS)).timestamp()
    return TASKS / (last - began)


def _submit(platform: Platform, count: int, name: str) -> str:
    """Submit `count` tasks; returns their name, which no other tasks have."""
    body = {"name": name, "command": ["true"], "cwd": "/"}
    storm(platform, min(count, 8), count, lambda wire, _: wire.ask("POST", "/tasks", body))
    return name


def _ended(client: Client, name: str, limit: int) -> Sequence[datetime]:
    """Wait until all tasks of that name have ended; returns the times of their ends."""
    pause = 0.02 if limit == 1 else 0.2

    def none_left() -> bool:
        time.sleep(pause)
        return not any(client.tasks(name=name, state="live", limit=1))

    wait_for(f"tasks {name} to end", none_left, 120)
    tasks = list(client.tasks(name=name, limit=limit))
    assert all(task.state == "succeeded" for task in tasks), {task.message for task in tasks}
    return [task.ended_at for task in tasks if task.ended_at is not None]


def _bare(command: list[str], at_once: int) -> float:
    """How many such commands this machine starts and ends a second without a platform."""
    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda _: subprocess.run(command, check=True), range(TASKS)))
    return TASKS / (time.perf_counter() - began)
