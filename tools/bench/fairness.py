"""The effect of one user with many clients on another: `python -m bench fairness [--seconds N]`.

For each attack of `bench.crowd`: first it is quiet, then 64 clients of mallory attack. Meanwhile bob submits, lists and
looks, one after the other, as a person at a terminal does; the age of the last tick is looked at all the time; and now
and then bob submits an urgent task. Only the REST interface is used, through the Hub.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from bench.crowd import API, ATTACKS, TALKS, WAITS
from bench.figures import Report, percentile, say
from e2e.conftest import ROOT, Platform
from kit.waiting import wait_for

NODES: Final = 4
CLIENTS: Final = 64
#: How long each measurement lasts unless the command line says otherwise, in seconds.
SECONDS: Final = 20.0
#: Tasks that mallory has besides.
TASKS: Final = 400
#: Urgent tasks of a measurement.
URGENT: Final = 3
#: Seconds between two looks at the age of the last tick.
_LOOK_S: Final = 0.05
#: Seconds that bob reads between two looks at the list of tasks.
_THINKS_S: Final = 0.05
_REST_S: Final = 2.0
#: Seconds; a request or a task that takes longer counts as having taken this long, and as lost.
_PATIENCE_S: Final = 60.0
#: Targets under attack, as multiples of the figures without an attack.
SLOWER, LATER, URGENT_LATER = 3.0, 2.0, 2.0
#: Seconds; shorter times are compared as if they were this long, because a ratio of noise says nothing.
_LEAST_S: Final = 0.01
#: The program of the task that prints much.
_TALK: Final = """
import os, time
from pathlib import Path
print(Path(os.environ["HAI_TOKEN_FILE"]).read_text().strip())
for number in range(200_000):
    print("line", number, "of a log that is long enough to be searched")
time.sleep(1e6)
"""


@dataclass(slots=True)
class Measured:
    """Bob's measurements; times are in seconds."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"submit": [], "list": [], "status": []})
    urgent: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    #: Unexpected answers to bob, by status.
    failed: Counter[str] = field(default_factory=Counter)


class Line:
    """A user's connection through the Hub, which is opened again after a loss."""

    def __init__(self, platform: Platform, user: str | None) -> None:
        self._port = platform.port
        self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        self._headers = {"Content-Type": "application/json"}
        if user is not None:
            self._headers["Authorization"] = f"Bearer {platform.token(user)}"

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Send a request; returns the status (0 for no answer) and the body if it is JSON."""
        try:
            self._connection.request(method, API + path, None if body is None else json.dumps(body), self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return 0, None
        try:
            return answer.status, json.loads(content)
        except ValueError:
            return answer.status, None


def measure(report: Report, seconds: float = SECONDS, attacks: Sequence[str] = tuple(ATTACKS)) -> None:
    """Start a platform, and attack it in these ways."""
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        platform = Platform(Path(temporary), nodes=NODES)
        try:
            platform.start()
            say("what the attacks need")
            _prepare(platform)
            for attack in attacks:
                say(f"{attack}: quiet")
                quiet = _watched(platform, seconds)
                say(f"{attack}: {CLIENTS} clients")
                with _attacked(platform, attack) as statuses:
                    time.sleep(min(_REST_S, seconds))
                    attacked = _watched(platform, seconds)
                _add(report, attack, quiet, attacked, statuses)
                time.sleep(_REST_S)
        finally:
            platform.end()


def _prepare(platform: Platform) -> None:
    # Threads ask for tokens later, and a user can be added only once.
    for user in ("mallory", "bob"):
        platform.token(user)
    mallory = Line(platform, "mallory")
    _submit(mallory, TALKS, command=[sys.executable, "-c", _TALK])
    _submit(mallory, WAITS, nodes=NODES)
    wait_for("the task that talks", lambda: _state(mallory, TALKS) == "running")
    for number in range(TASKS):
        _submit(mallory, f"t{number}", hold=True)


def _submit(line: Line, name: str, **more: Any) -> int:
    """Submit a task, again where a limit refuses it; returns the id of the task."""
    body = {"name": name, "command": ["true"], "cwd": "/", **more}
    found: list[Any] = []

    def accepted() -> bool:
        status, task = line.ask("POST", "/tasks", body)
        if status == 201:
            found.append(task["id"])
        elif status not in (0, 429, 503):
            raise RuntimeError(f"{name} was refused with {status}: {task}")
        return status == 201

    wait_for(f"{name} to be submitted", accepted, _PATIENCE_S)
    return int(found[0])


def _state(line: Line, name: str) -> str:
    return str((line.ask("GET", f"/tasks/{name}")[1] or {}).get("state"))


@contextmanager
def _attacked(platform: Platform, attack: str) -> Iterator[dict[str, int]]:
    """A context in which mallory's clients attack; at its end the dictionary has their statuses, counted."""
    statuses: dict[str, int] = {}
    words = [sys.executable, "-m", "bench.crowd", platform.url, attack, str(CLIENTS)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdin is not None
        try:
            process.stdin.write(platform.token("mallory") + "\n")
            process.stdin.flush()
            yield statuses
        finally:
            out, _ = process.communicate()
    statuses.update(json.loads(out or "{}"))


def _watched(platform: Platform, seconds: float) -> Measured:
    """Measure for `seconds`, or longer until each request was made: bob's work, urgent tasks, and the age of ticks."""
    found, over = Measured(), threading.Event()
    watcher = threading.Thread(target=_look_at_ticks, args=(platform, found, over))
    urgent = threading.Thread(target=_submit_urgent, args=(platform, found, seconds))
    for thread in (watcher, urgent):
        thread.start()
    _work(platform, found, time.monotonic() + seconds)
    urgent.join()
    over.set()
    watcher.join()
    return found


def _work(platform: Platform, found: Measured, ends: float) -> None:
    line = Line(platform, "bob")
    number = 0
    while number < 3 or time.monotonic() < ends:
        body = {"name": f"b{number}", "command": ["true"], "cwd": "/", "hold": True}
        task = _timed(line, found, "submit", "POST", "/tasks", body)
        _timed(line, found, "list", "GET", "/tasks?limit=50")
        if task is not None:
            _timed(line, found, "status", "GET", f"/tasks/{task['id']}")
            line.ask("POST", f"/tasks/{task['id']}/stop")
        number += 1
        time.sleep(_THINKS_S)


def _timed(line: Line, found: Measured, what: str, method: str, path: str, body: Any = None) -> Any:
    began = time.perf_counter()
    status, answer = line.ask(method, path, body)
    found.times[what].append(time.perf_counter() - began)
    if status not in (200, 201):
        found.failed[f"{what} {status}"] += 1
        return None
    return answer


def _look_at_ticks(platform: Platform, found: Measured, over: threading.Event) -> None:
    line = Line(platform, None)
    while not over.wait(_LOOK_S):
        age = (line.ask("GET", "/health")[1] or {}).get("last_tick_s")
        if age is not None:
            found.ages.append(float(age))


def _submit_urgent(platform: Platform, found: Measured, seconds: float) -> None:
    line = Line(platform, "bob")
    for _ in range(URGENT):
        time.sleep(seconds / (2 * URGENT))
        began = time.perf_counter()
        try:
            task = _submit(line, "urgent", priority="VERY_HIGH")
            wait_for("the urgent task to start", lambda: _has_started(line, task), _PATIENCE_S)  # noqa: B023  # called at once
        except pytest.fail.Exception as error:
            # A task that did not start counts with the time for which this waited.
            found.failed[str(error).partition(";")[0]] += 1
        found.urgent.append(time.perf_counter() - began)


def _has_started(line: Line, task: int) -> bool:
    answer = line.ask("GET", f"/tasks/{task}")[1] or {}
    return answer.get("state") == "succeeded" or any(run.get("running_at") for run in answer.get("runs", ()))


def _add(report: Report, attack: str, quiet: Measured, attacked: Measured, statuses: dict[str, int]) -> None:
    topic = f"another user, while one has {CLIENTS} clients that {attack.replace('_', ' ')}"
    answers = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    for what in quiet.times:
        before, now = quiet.times[what], attacked.times[what]
        for percent in (50, 95):
            note = f"quiet {1000 * percentile(before, percent):.0f} ms; of {len(before)} and {len(now)}"
            report.add(topic, f"{what}, p{percent}", 1000 * percentile(now, percent), "ms", note)
        ratio = _ratio(percentile(now, 95), percentile(before, 95))
        report.add(topic, f"{what}, p95, times quiet", ratio, "x", at_most=SLOWER)
    report.add(
        topic, "oldest tick", max(attacked.ages, default=float("inf")), "s", f"quiet {max(quiet.ages, default=0):.2f} s"
    )
    ratio = _ratio(max(attacked.ages, default=float("inf")), max(quiet.ages, default=0.0))
    report.add(topic, "oldest tick, times quiet", ratio, "x", at_most=LATER)
    before, now = percentile(quiet.urgent, 50), percentile(attacked.urgent, 50)
    report.add(topic, "urgent task, submitted to started, p50", now, "s", f"quiet {before:.2f} s; of {URGENT} each")
    report.add(topic, "urgent task, times quiet", _ratio(now, before), "x", at_most=URGENT_LATER)
    # Print now: the table comes at the end, and an attack that blocks everything may be the last one.
    say("; ".join(f"{f.name} {f.value:g} {f.unit}" for f in report.figures if f.topic == topic and f.target))
    report.add(topic, "other user's requests refused or lost", sum(attacked.failed.values()), "", answers, at_most=0)


def _ratio(now: float, before: float) -> float:
    return max(now, _LEAST_S) / max(before, _LEAST_S)
