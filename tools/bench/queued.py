"""Submissions, and the service behind a long queue."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from bench.figures import Report, percentile
from bench.proc import cpu_share, hub_pid, rss_mib
from bench.rest import Storm, Wire, storm
from e2e.conftest import Platform

SUBMISSIONS = "submissions over REST"
QUEUE = "a queue of 1,000 held tasks"
SEQUENTIAL, CONCURRENT, CLIENTS = 200, 800, 8
HEALTH = 1000
READS = 40
COMMANDS = 8


def measure(report: Report, platform: Platform) -> None:
    _load(report, platform, "idle")
    _submissions(report, platform)
    time.sleep(2)
    _load(report, platform, "with 1,000")
    _reads(report, platform)


def _load(report: Report, platform: Platform, when: str) -> None:
    hub = hub_pid(platform)
    for role, name in (("loop", "loop"), ("api", "API")):
        report.add(QUEUE, f"{name} memory (RSS), {when}", rss_mib(platform.service_pid(role)), "MiB")
    report.add(QUEUE, f"Hub memory (RSS), {when}", rss_mib(hub), "MiB", "the proxy is inside")
    for role, name in (("loop", "loop"), ("api", "API")):
        report.add(
            QUEUE, f"{name} CPU, {when}", cpu_share(platform.service_pid(role), 4), "%", "of a core, nobody asks"
        )


def _submissions(report: Report, platform: Platform) -> None:
    def health(wire: Wire, _number: int) -> None:
        wire.ask("GET", "/health")

    def submit(wire: Wire, number: int) -> None:
        wire.ask("POST", "/tasks", {"name": f"held-{number}", "command": ["true"], "cwd": "/", "hold": True})

    storm(platform, 2, 50, health)
    bare = {clients: storm(platform, clients, HEALTH, health) for clients in (1, CLIENTS)}
    wire = Wire(platform)
    wire.ask("GET", "/me")  # from now on the service knows the token
    _submitted(report, "1 client", storm(platform, 1, SEQUENTIAL, submit), bare[1])
    _submitted(report, f"{CLIENTS} clients", storm(platform, CLIENTS, CONCURRENT, submit), bare[CLIENTS])


def _submitted(report: Report, who: str, made: Storm, bare: Storm) -> None:
    report.add(SUBMISSIONS, f"{who}: GET /health", bare.rate, "/s", "for comparison")
    report.add(SUBMISSIONS, f"{who}: POST /tasks", made.rate, "/s")
    report.add(SUBMISSIONS, f"{who}: POST /tasks to GET /health", made.rate / bare.rate, "", "ratio of rates")
    report.spread(SUBMISSIONS, f"{who}: POST /tasks", made.latencies)


def _reads(report: Report, platform: Platform) -> None:
    wire = Wire(platform)
    for path in ("/health", "/tasks?limit=50", "/cluster"):
        report.spread(QUEUE, f"GET {path}", _times(READS, partial(wire.ask, "GET", path)))
    wire.close()
    python = [sys.executable, "-c", "pass"]
    bare = _times(COMMANDS, lambda: subprocess.run(python, check=True, capture_output=True))
    listed = _times(COMMANDS, lambda: platform.hai("list"))
    report.spread(QUEUE, "hai list", listed)
    ratio = percentile(listed, 50) / percentile(bare, 50)
    report.add(QUEUE, "hai list to `python -c pass`", ratio, "", "ratio of times")


def _times(count: int, call: Callable[[], object]) -> list[float]:
    took = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return took
