"""How many files and functions of the service a request passes: no more than they do, so that it stays short.

Only what the thread of the event loop runs on a platform is counted. `python -m proportion` prints the numbers
(tools/proportion).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

#: The folder of the service's package.
PACKAGE: Final = "hai_scheduler"
#: What the thread of a connection runs. Stores of tests have no such threads.
ELSEWHERE: Final = f"/{PACKAGE}/store/one_trip.py"
#: The most files and functions that a request passes. Lower them when a way gets shorter.
MOST: Final = {"POST /tasks": (74, 272), "GET /tasks": (41, 153), "GET /runs/{run_id}/notice": (34, 120)}
#: Names a file that gets the numbers, as JSON.
OUT: Final = "HAI_PROPORTION_OUT"
TASK: Final = {"command": ["python", "train.py"], "cwd": "/w", "nodes": 1}


class Passed:
    """The functions of the service that were called."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()

    def seen(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call, as `sys.setprofile` tells it."""
        path = frame.f_code.co_filename
        if event == "call" and f"/{PACKAGE}/" in path and not path.endswith(ELSEWHERE):
            self.functions.add((path, frame.f_code.co_qualname))

    @property
    def files(self) -> set[str]:
        """The files of the functions."""
        return {path for path, _ in self.functions}


@contextmanager
def _traced(into: dict[str, Any], name: str) -> Iterator[None]:
    passed = Passed()
    sys.setprofile(passed.seen)
    try:
        yield
    finally:
        sys.setprofile(None)
        into[name] = (len(passed.files), len(passed.functions))


async def test_a_submission_a_page_and_a_notice_pass_few_files_and_functions(platform) -> None:
    world, cycle = platform
    found: dict[str, Any] = {}
    # The first of each kind builds what is kept.
    await world.json("POST", "/tasks", json={**TASK, "name": "first"})
    await world.json("GET", "/tasks")
    with _traced(found, "POST /tasks"):
        status, task = await world.json("POST", "/tasks", json={**TASK, "name": "train"})
    assert status == 201, task
    with _traced(found, "GET /tasks"):
        assert (await world.json("GET", "/tasks"))[0] == 200
    for _ in range(3):
        await cycle.tick()
        await asyncio.sleep(0)
    run_id = (await world.json("GET", "/tasks/train"))[1]["runs"][-1]["id"]
    token = {"Authorization": f"Bearer {world.tokens.make(run_id).reveal()}"}
    await world.json("POST", "/tasks/train/suspend")
    with _traced(found, "GET /runs/{run_id}/notice"):
        status, notice = await world.json("GET", f"/runs/{run_id}/notice?rank=0&seen=0&wait=0", None, headers=token)
    assert status == 200, notice
    if OUT in os.environ:
        await asyncio.to_thread(Path(os.environ[OUT]).write_text, json.dumps(found))
    for name, (files, functions) in found.items():
        assert files <= MOST[name][0], name
        assert functions <= MOST[name][1], name
