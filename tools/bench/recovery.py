"""Seconds until a platform works again after a process of it was killed: `python -m bench recovery`."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.figures import Report, percentile, say
from bench.proc import hub_pid
from e2e.conftest import Platform
from kit.waiting import wait_for

TOPIC = "recovery from SIGKILL"
NODES: Final = 4
#: Kills of each kind.
SCHEDULER, HUB, UP = 20, 10, 10
#: The target in seconds, on an idle machine.
AIM_S: Final = 3.0
#: Seconds between a recovery and the next kill, so that each finds an idle platform.
_REST_S: Final = 1.0
_API: Final = "/services/hai/api/v1"


def measure(report: Report) -> None:
    """Kill the scheduling loop, the API, the Hub and `hai up` one by one on a platform that is idle otherwise."""
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        platform = Platform(Path(temporary), nodes=NODES)
        try:
            platform.start()
            say("killing the scheduling loop")
            _scheduler(report, platform, "loop")
            say("killing the API")
            _scheduler(report, platform, "api")
            say("killing the Hub")
            _hub(report, platform)
            say("killing hai up")
            _up(report, platform)
        finally:
            platform.end()


def _scheduler(report: Report, platform: Platform, role: str) -> None:
    """Kill a process of the service. Health is late to tell of a dead loop, so the leader counts."""
    healthy, leading, deciding = [], [], []
    for number in range(SCHEDULER):
        time.sleep(_REST_S)
        before = platform.service_pid(role)
        began = time.perf_counter()
        os.kill(before, signal.SIGKILL)
        wait_for("the kill", lambda: not Path(f"/proc/{before}/exe").exists())  # noqa: B023  # called at once
        healthy.append(_until(began, lambda: _healthy(platform)))
        leading.append(_until(began, lambda: _leads(platform)))
        body = {"name": f"after-{number}", "command": ["true"], "cwd": "/"}
        task = _ask(platform, "/tasks", body)["id"]
        deciding.append(_until(began, lambda: _ask(platform, f"/tasks/{task}")["runs"]))  # noqa: B023  # called at once
        _until(began, lambda: _ask(platform, f"/tasks/{task}")["state"] == "succeeded")  # noqa: B023
    _add(report, f"{role}: to healthy", healthy)
    _add(report, f"{role}: to leading", leading)
    _add(report, f"{role}: to the first start of a task, submitted then", deciding)


def _hub(report: Report, platform: Platform) -> None:
    back = []
    for _ in range(HUB):
        time.sleep(_REST_S)
        began = time.perf_counter()
        service = platform.service_pid("loop"), platform.service_pid("api")
        pid = hub_pid(platform)
        os.kill(pid, signal.SIGKILL)
        wait_for("the kill", lambda: not Path(f"/proc/{pid}/exe").exists())  # noqa: B023  # called at once
        back.append(_until(began, lambda: _healthy(platform) and "name" in _ask(platform, "/me")))
        assert (platform.service_pid("loop"), platform.service_pid("api")) == service, "they are no part of it"
    _add(report, "Hub: to the service through it", back)


def _up(report: Report, platform: Platform) -> None:
    ready, leading = [], []
    for _ in range(UP):
        time.sleep(_REST_S)
        assert platform.process is not None
        began = time.perf_counter()
        platform.process.kill()
        platform.process.wait()
        platform.start()
        ready.append(time.perf_counter() - began)
        leading.append(_until(began, lambda: _healthy(platform) and _leads(platform)))
    _add(report, "`hai up`, started again: to ready", ready)
    _add(report, "`hai up`, started again: to healthy and leading", leading)


def _add(report: Report, name: str, seconds: Sequence[float]) -> None:
    note = f"of {len(seconds)}; load average {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores"
    report.add(TOPIC, f"{name}, p50", percentile(seconds, 50), "s", note)
    report.add(TOPIC, f"{name}, p95", percentile(seconds, 95), "s", f"longest {max(seconds):.2f} s", at_most=AIM_S)


def _until(began: float, look: Callable[[], object]) -> float:
    """Seconds from `began` until `look` is true."""
    wait_for("the platform to be back", lambda: _patiently(look))
    return time.perf_counter() - began


def _patiently(look: Callable[[], object]) -> object:
    try:
        return look()
    except (OSError, ValueError):
        return None


def _healthy(platform: Platform) -> bool:
    return bool(_ask(platform, "/health")["status"] == "ok")


def _leads(platform: Platform) -> bool:
    return bool(_ask(platform, "/health/ready")["leader"] == "another")


def _ask(platform: Platform, path: str, body: object = None) -> Any:
    """The body of an answer through the Hub.

    Raises:
        OSError: There is no answer, or the answer is an error.
    """
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(platform.url + _API + path, data=data)
    request.add_header("Authorization", f"Bearer {platform.token('ann')}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=2) as answer:
        return json.load(answer)
