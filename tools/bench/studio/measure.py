"""The study `studio`: what 200 open pages cost the service, and when they hear of an event."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from bench.figures import Report, say
from bench.proc import cpu_seconds, rss_mib
from bench.studio.pages import LIVE_VALUES
from bench.studio.platform import StudioPlatform, started
from bench.studio.scene import user

PAGES: Final = 200
#: Seconds in which the pages are opened, and for which the service is then watched.
OPENING_S: Final = 20.0
WATCHED_S: Final = 60.0
#: How often each address is asked, by as many users.
ASKED: Final = 40
#: Seconds after an event that all pages hear, in which they all read.
RUSH_S: Final = 8.0
#: Seconds for which the service is watched before, without a page.
ALONE_S: Final = 20.0
SERVICE: Final = f"the service with {PAGES} open pages, 1,500 nodes and 10,000 tasks"
#: Seconds between two submissions: as many tasks come as end.
EACH_S: Final = 1.0


def measure(report: Report) -> None:
    """Measure without a page, each address by itself, and with all pages."""
    with (
        tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary,
        started(Path(temporary)) as platform,
        _submitting(platform),
    ):
        _alone(report, platform)
        _each(report, platform)
        with _crowd(platform, PAGES) as crowd:
            _watch(report, platform, crowd)
            _rush(report, platform, crowd)


def _used(platform: StudioPlatform, seconds: float) -> dict[str, float]:
    """Percent of a core that each process of the service takes during the next seconds."""
    before = {role: cpu_seconds(platform.pids[role]) for role in ("api", "loop")}
    began = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    return {role: (cpu_seconds(platform.pids[role]) - spent) / took * 100 for role, spent in before.items()}


def _alone(report: Report, platform: StudioPlatform) -> None:
    say("no page is open")
    used = _used(platform, ALONE_S)
    report.add(SERVICE, "processor of the API, no page open", used["api"], "%", "of a core: it follows the plan")
    report.add(SERVICE, "processor of the loop, no page open", used["loop"], "%", "of a core")


def _each(report: Report, platform: StudioPlatform) -> None:
    """What one answer costs the API: also true of a machine that others keep busy."""
    say("one answer after the other")
    for path in (path for model in LIVE_VALUES.values() for path in model.paths):
        platform.ask(user(0), "GET", path)
        before, idle = cpu_seconds(platform.pids["api"]), time.monotonic()
        for number in range(ASKED):
            platform.ask(user(number), "GET", path)
        used = cpu_seconds(platform.pids["api"]) - before
        note = f"{ASKED} users, one after the other in {time.monotonic() - idle:.1f} s; with following the plan"
        report.add(SERVICE, f"GET {path}: processor of the API", used / ASKED * 1000, "ms", note)


def _watch(report: Report, platform: StudioPlatform, crowd: OpenPages) -> None:
    say(f"{PAGES} pages for {WATCHED_S:g} s")
    crowd.told()
    took = WATCHED_S
    used = _used(platform, took)
    told = crowd.told()
    topic = SERVICE
    asked = sum(told["asked"].values())
    by_path = ", ".join(f"{path.removeprefix('api/v1')} {n}" for path, n in sorted(told["asked"].items()))
    report.add(topic, f"processor of the API, {PAGES} pages", used["api"], "%", "of a core", at_most=50)
    report.add(topic, f"processor of the loop, {PAGES} pages", used["loop"], "%", "of a core")
    report.add(topic, "memory of the API (RSS)", rss_mib(platform.pids["api"]), "MiB")
    report.add(topic, "requests", asked / took, "/s", by_path)
    report.add(topic, "answers", told["bytes"] / took / 1e3, "kB/s")
    report.add(
        topic, "answers that were refused", sum(told["refused"].values()), "", str(told["refused"] or ""), at_most=0
    )
    report.add(topic, "an answer: p50", told["answer_p50"] * 1000, "ms")
    report.add(topic, "an answer: p99", told["answer_p99"] * 1000, "ms")
    note = f"of {told['heard']} that the pages heard; from the time that the event bears"
    report.add(topic, "an event at the service to a page: p50", told["delay_p50"], "s", note)
    report.add(topic, "an event at the service to a page: p99", told["delay_p99"], "s", at_most=2)
    note = f"of {told['read_again']}"
    report.add(topic, "until the page has read again: p50", told["shown_p50"], "s", note)
    report.add(topic, "until the page has read again: p99", told["shown_p99"], "s", note, at_most=2)


def _rush(report: Report, platform: StudioPlatform, crowd: OpenPages) -> None:
    """An event that all pages hear, so that all read again at the same moment."""
    say("a mark on a node")
    crowd.told()
    platform.ask(user(0), "POST", "/nodes/node-1500/cordon")
    time.sleep(RUSH_S)
    told = crowd.told()
    platform.ask(user(0), "POST", "/nodes/node-1500/uncordon")
    time.sleep(RUSH_S)
    asked, refused = sum(told["asked"].values()), sum(told["refused"].values())
    note = f"of {told['read_again']} readings, {asked} requests, {refused} refused"
    topic = "an event that all pages hear, until they have read again"
    report.add(SERVICE, f"{topic}: p50", told["shown_p50"], "s", note)
    report.add(SERVICE, f"{topic}: p99", told["shown_p99"], "s", at_most=2)


class OpenPages:
    """The process with the pages."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def told(self) -> dict[str, Any]:
        """What its pages have sent and heard since the last call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))


@contextmanager
def _crowd(platform: StudioPlatform, pages: int) -> Iterator[OpenPages]:
    say(f"{pages} pages are opened")
    command = [sys.executable, "-m", "bench.studio.crowd", platform.root, str(pages), str(OPENING_S)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "open\n":
            raise RuntimeError("the pages could not be opened")
        # Until what was read for the first time is no longer part of the figures.
        time.sleep(10)
        yield OpenPages(process)
    finally:
        process.kill()
        process.wait()


@contextmanager
def _submitting(platform: StudioPlatform) -> Iterator[None]:
    """A time in which tasks come as fast as tasks end."""
    over = threading.Event()

    def submit() -> None:
        number = 0
        while not over.wait(EACH_S):
            # A service that does not answer is seen in the figures.
            with suppress(OSError):
                platform.submit(number)
            number += 1

    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
