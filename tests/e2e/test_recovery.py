"""Running tasks and servers go on while the Hub, the service or `hai up` is killed, and can be reached again."""

from __future__ import annotations

import http.client
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Platform, processes_with
from e2e.test_spot import SERVER, Ann
from hai_client.errors import HaiError
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e

COUNTING = "import time\nfor n in range(100_000):\n    print('line', n, flush=True)\n    time.sleep(0.1)"


@dataclass(frozen=True)
class Seen:
    """Facts that must not change: the ids of processes, and what the processes say of themselves."""

    #: The ids of the rank's keeper and supervisor.
    rank: tuple[int, ...]
    lab: int
    spot: int
    kernel: Any
    runs: Any


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    made = Platform(tmp_path, nodes=2)
    try:
        made.start()
        yield made
    finally:
        made.end()


def test_tasks_labs_and_kernels_stay_whatever_of_the_platform_is_killed(platform: Platform) -> None:
    ann = Ann(platform)
    task = int(platform.json("submit", "--name", "counting", "--", "python", "-c", COUNTING)["id"])
    assert ann.ask("POST", "/hub/api/users/ann/server")[0] in (201, 202)
    status, said = ann.ask("POST", f"/hub/api/users/ann/servers/{SERVER}", {"user_options": {"spot": {}}})
    assert status in (201, 202), said
    ann.wait_until_ready()
    wait_for("the Lab", lambda: ann.ask("GET", "/hub/api/users/ann")[1]["servers"][""]["ready"], 120)
    status, kernel = ann.ask("POST", "/user/ann/api/kernels", {"name": "python3"})
    assert status == 201, kernel
    wait_for("the first line", lambda: "line 3" in platform.hai("logs", str(task)).stdout)
    before = _seen(platform, ann, task)

    kills: list[Callable[[], None]] = [
        lambda: os.kill(_hub_pid(platform), signal.SIGKILL),
        lambda: os.kill(platform.service_pid("api"), signal.SIGKILL),
        lambda: os.kill(platform.service_pid("loop"), signal.SIGKILL),
        lambda: _kill_up(platform),
    ]
    for kill in kills:
        lines = _lines(platform, task)
        kill()
        wait_for("the same to be reached", lambda: _seen(platform, ann, task) == before, 60)
        wait_for("the log to go on", lambda: _lines(platform, task) > lines, 60)  # noqa: B023
    shown = platform.hai("logs", str(task)).stdout.split("\n")
    counted = [line for line in shown if line.startswith("line ")]
    assert counted == [f"line {n}" for n in range(len(counted))]
    assert ann.ask("DELETE", f"/user/ann/api/kernels/{kernel['id']}")[0] == 204

    platform.interrupt()
    assert processes_with(str(platform.home)) == {}, "Ctrl-C ends what an earlier Hub has started"


def _hub_pid(platform: Platform) -> int:
    assert platform.process is not None
    up = platform.process.pid
    children = Path(f"/proc/{up}/task/{up}/children").read_text().split()
    return next(pid for pid in processes_with("-m hai_hub.up.hub ") if str(pid) in children)


def _kill_up(platform: Platform) -> None:
    assert platform.process is not None
    platform.process.kill()
    platform.process.wait()
    platform.start()


def _seen(platform: Platform, ann: Ann, task: int) -> Seen | None:
    """The facts now; None while a part of the platform cannot be reached."""
    try:
        answers = [ann.ask("GET", path) for path in ("/user/ann/api/kernels", f"/user/ann/{SERVER}/hai-lab/spot")]
        found = platform.client().task(task)
    except (OSError, http.client.HTTPException, HaiError):
        return None
    if [status for status, _ in answers] != [200, 200]:
        return None
    (kernel,) = answers[0][1]
    return Seen(
        rank=tuple(sorted(processes_with(str(platform.state / f"runs/{task}/")))),
        lab=_only(_labs(platform, SERVER, inside=False)),
        spot=_only(_labs(platform, SERVER, inside=True)),
        kernel=kernel["id"],
        runs=(str(found.state), len(found.runs)),
    )


def _labs(platform: Platform, server: str, *, inside: bool) -> dict[int, str]:
    """Ann's JupyterLab servers: that of this name, or the other."""
    prefix = f"JUPYTERHUB_SERVICE_PREFIX=/user/ann/{server}/".encode()
    home = str(platform.state).encode()
    found = {}
    for pid, line in processes_with("-m hai_spawner.containers.singleuser").items():
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if home in environ and (prefix in environ) is inside:
            found[pid] = line
    return found


def _only(found: dict[int, str]) -> int:
    assert len(found) == 1, found
    return next(iter(found))


def _lines(platform: Platform, task: int) -> int:
    shown = platform.hai("logs", str(task), check=False)
    return sum(line.startswith("line ") for line in shown.stdout.split("\n"))
