"""Starts and ends the processes of `bench studio`, and speaks with the service as a user."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.figures import say
from bench.studio.scene import SIZES, TASKS, token, user
from bench.studio.service import PREFIX, ROLES
from kit.waiting import wait_for

#: Seconds for the loop to start what fits on the nodes.
FILLING_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class StudioPlatform:
    """The running processes."""

    #: The API's address without the prefix.
    root: str
    #: Process ids by role.
    pids: dict[str, int]

    def ask(self, who: str, method: str, path: str, body: object = None) -> Any:
        """Send a request as a user. Raises HTTPError."""
        request = urllib.request.Request(
            f"{self.root}{PREFIX}api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token(who)}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def submit(self, number: int) -> None:
        """Submit a task of one of the users."""
        body = {"name": f"more-{number}", "command": ["true"], "cwd": "/", "nodes": SIZES[number % len(SIZES)]}
        self.ask(user(number), "POST", "/tasks", body | {"priority": "NORMAL"})


@contextmanager
def started(folder: Path) -> Iterator[StudioPlatform]:
    """A platform whose nodes are full, until the context ends."""
    processes: dict[str, subprocess.Popen[str]] = {}
    said: dict[str, str] = {}
    try:
        for role in ROLES:
            say(f"the process {role}")
            command = [sys.executable, "-m", "bench.studio.service", role, str(folder), said.get("hub", "")]
            log = (folder / f"{role}.log").open("w")
            processes[role] = process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
            assert process.stdout is not None
            said[role] = process.stdout.readline().strip()
            if not said[role]:
                raise RuntimeError(f"{role} has ended: {(folder / f'{role}.log').read_text()[-2000:]}")
        platform = StudioPlatform(said["api"], {role: process.pid for role, process in processes.items()})
        wait_for("the nodes to be full", lambda: _full(platform), within=FILLING_S, pause=1.0)
        yield platform
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def _full(platform: StudioPlatform) -> bool:
    overview = platform.ask(user(0), "GET", "/overview")
    waiting = sum(level["waiting_tasks"] for level in overview["levels"])
    # The last tasks that fit are larger than what is left: a node or two stay free.
    return bool(overview["now"]["occupancy"] > 0.98 and overview["now"]["starting"] < 100 and waiting > TASKS * 0.8)
