"""An urgent task on a full cluster: how long until its first line of output."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.figures import Report
from e2e.conftest import Platform
from hai_client import Client, TaskRequest
from kit.waiting import wait_for

TOPIC = "an urgent task on a full cluster"
TIMES = 10
SAVING_S = 0.5
VICTIM = Path(__file__).with_name("victim.py")


@dataclass(frozen=True, slots=True)
class Once:
    """The times of one interruption in their order, in seconds since the epoch."""

    submitted: float
    noticed: float
    told: float
    saved: float
    left: float
    launched: float
    printed: float
    seen: float

    @property
    def saving(self) -> float:
        return self.saved - self.told


def measure(report: Report, platform: Platform) -> None:
    """Interrupt a task of a full platform for an urgent one, ten times."""
    client, folder = platform.client(), platform.home / "victims"
    folder.mkdir()
    command = (sys.executable, str(VICTIM), str(folder), str(SAVING_S))
    for number in range(platform.nodes):
        client.submit(TaskRequest(name=f"victim-{number}", command=command, cwd="/", profile="cooperative"))
    times = []
    for _ in range(TIMES):
        wait_for("a full cluster", lambda: len(list(folder.glob("[0-9]*"))) == platform.nodes, 120)
        time.sleep(0.3)  # or this would measure how long the last victim takes to come back
        times.append(_once(client, folder))
    _report(report, times)
    for task in list(client.tasks(state="live")):
        client.stop(task.id)


def _once(client: Client, folder: Path) -> Once:
    submitted = time.time()
    request = TaskRequest(name="urgent", command=("echo", "urgent"), cwd="/", priority="VERY_HIGH")
    urgent = client.submit(request).id
    line = next(line for line in client.follow_logs(urgent) if line.text == "urgent")
    seen = time.time()
    victim = json.loads((folder / "told").read_text().splitlines()[-1])
    run = next(run for run in client.runs(victim["task"]) if run.notice and run.notice.beneficiary == urgent)
    own = client.runs(urgent)[0]
    assert run.notice is not None
    return Once(
        submitted,
        run.notice.at.timestamp(),
        victim["told"],
        victim["saved"],
        _seconds(run.ended_at),
        own.started_at.timestamp(),
        _seconds(line.at),
        seen,
    )


def _seconds(at: datetime | None) -> float:
    assert at is not None
    return at.timestamp()


def _report(report: Report, times: list[Once]) -> None:
    report.spread(TOPIC, "submission to first line", [o.printed - o.submitted for o in times])
    report.spread(TOPIC, "the victim's own saving", [o.saving for o in times])
    net = [o.printed - o.submitted - o.saving for o in times]
    report.spread(TOPIC, "first line less saving", net, note="what the platform adds")
    report.spread(TOPIC, "  submission to notice", [o.noticed - o.submitted for o in times])
    report.spread(TOPIC, "  notice to the job's knowing", [o.told - o.noticed for o in times])
    report.spread(TOPIC, "  saved to the victim's run ended", [o.left - o.saved for o in times])
    report.spread(TOPIC, "  that to the urgent run's start", [o.launched - o.left for o in times])
    report.spread(TOPIC, "  start to first line", [o.printed - o.launched for o in times])
    report.spread(TOPIC, "first line to its being seen (follow)", [o.seen - o.printed for o in times])
