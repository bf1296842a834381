"""What metrics of ranks cost: the rank that samples, the service that takes them, and who looks at a day of them."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.figures import Report, say
from hai_scheduler.adapters.sql.store import open_store
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.convert.metrics import points_of, series_out
from hai_scheduler.api.wire.metrics import RankMetricsIn
from hai_scheduler.core.metrics.packing import pack
from hai_scheduler.core.metrics.retention import DAY, HOUR
from hai_scheduler.core.metrics.series import Point, Spread, fold
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.store import Store
from hai_scheduler.service.metrics.idle_gpus import IdleGpus
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.metrics.reading import Series
from hai_scheduler.service.metrics.taking import MetricsIntake
from hai_scheduler.service.policy.store import PolicyStore
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.settings import ServiceSettings
from kit import nvml
from kit.builders import a_run, a_spec, a_task

TOPIC: Final = "metrics of ranks"
GPUS: Final = 8
RANKS: Final = 1500
#: Seconds for which the sampling of a rank is measured.
SAMPLED_S: Final = 30.0
#: What each rank sends at once where 1,500 ranks send (`service/metrics/pace.py`), seconds.
PIECE_S: Final = 120
PIECES: Final = 60
#: What a picture of all GPUs asks for.
DRAWN: Final = ("cpu", "memory", *(f"gpu{gpu}_{name}" for gpu in range(GPUS) for name in ("use", "memory", "power")))


def measure(report: Report) -> None:
    """Measure all three."""
    say("sampling of a rank with 8 GPUs")
    _of_a_rank(report)
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        asyncio.run(_of_the_service(report, Path(temporary)))


def _of_a_rank(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="hai-bench-") as temporary:
        nvml.build(Path(temporary))
        environment = {"LD_LIBRARY_PATH": temporary, "FAKE_NVML_GPUS": str(GPUS), "PATH": "/usr/bin:/bin"}
        command = [sys.executable, str(Path(__file__).with_name("metrics_rank.py")), str(SAMPLED_S)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["used"]["gpus"] == GPUS, found
    report.add(TOPIC, "sampling a rank with 8 GPUs (fake NVML)", found["share"], "%", "of a core", at_most=0.5)
    report.add(TOPIC, "memory of sampling", found["mib"], "MiB", "beside the supervisor", at_most=2)


async def _of_the_service(report: Report, folder: Path) -> None:
    store = await open_store(f"sqlite+aiosqlite:///{folder}/hai.db")
    clock = SystemClock()
    bus, pace, policies = MemoryBus(clock), Pace(), PolicyStore(ServiceSettings())
    idle = IdleGpus(store=store, bus=bus, clock=clock, policies=policies)
    intake = MetricsIntake(store=store, bus=bus, clock=clock, pace=pace, idle=idle)
    end = int(time.time()) // HOUR * HOUR - 10
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(nodes=PIECES + 1), a_spec("train"))
        run = a_run(task.id, nodes=PIECES + 1)
        await tx.tasks.save(_running(task, run))
    say(f"{RANKS} ranks send")
    await _taking(report, intake, run.id, end)
    say("a day of 8 GPUs")
    await _a_day(report, store, Series(store=store, clock=clock, pace=pace), run.id, end)
    await store.close()


def _running(task: Task, run: Run) -> Task:
    return replace(task, state=TaskState.RUNNING, run=run)


async def _taking(report: Report, intake: MetricsIntake, run_id: RunId, end: int) -> None:
    begin = end // HOUR * HOUR
    bodies = [
        json.dumps({"points": [_as_sent(point) for point in _points(begin - HOUR, begin - HOUR + PIECE_S, rank)]})
        for rank in range(1, PIECES + 1)
    ]
    before = time.process_time()
    for rank, body in enumerate(bodies, 1):
        await intake.take(run_id, rank, points_of(RankMetricsIn.model_validate_json(body).points))
    spent = (time.process_time() - before) / PIECES
    share = spent * RANKS / PIECE_S * 100
    report.add(TOPIC, "a piece of 12 points, parsed and stored", spent * 1000, "ms", "CPU, without HTTP")
    report.add(TOPIC, f"{RANKS} ranks: CPU of the API", share, "%", "of a core, without HTTP", at_most=5)


async def _a_day(report: Report, store: Store, series: Series, run_id: RunId, end: int) -> None:
    begin = end - DAY + HOUR
    points = list(_points(begin, end, 0))
    current = [point for point in points if point.at > end // HOUR * HOUR]
    earlier = points[: len(points) - len(current)]
    for first in range(0, len(earlier), PIECE_S // 10):
        await store.series.append(run_id, 0, earlier[first : first + PIECE_S // 10])
    before, chunks = time.process_time(), 0
    while packed := await store.series.pack(now=end, limit=10):
        chunks += packed
    spent = (time.process_time() - before) / max(1, chunks)
    share = spent * RANKS / HOUR * 100
    report.add(TOPIC, "an hour of a rank with 8 GPUs, packed and folded", spent * 1000, "ms", "CPU")
    report.add(TOPIC, f"{RANKS} ranks: CPU of the loop for packing", share, "%", "of a core", at_most=5)
    # The hour of now, in the small pieces of a task that somebody looks at.
    for point in current:
        await store.series.append(run_id, 0, [point])
    day = 24 * len(pack(earlier[:360])) + len(pack(fold(points, 60)))
    size = day * RANKS / 1e9
    report.add(
        TOPIC, f"{RANKS} ranks: stored in a day", size, "GB", "all metrics of 8 GPUs change all the time", at_most=0.5
    )
    for names, words in ((DRAWN, f"{len(DRAWN)} metrics"), (None, "all metrics")):
        best = min([await _drawn(series, begin, names) for _ in range(5)])
        report.add(
            TOPIC,
            f"24 h of 8 GPUs of a rank, {words}",
            best * 1000,
            "ms",
            "CPU; read, folded, as JSON; best of 5",
            at_most=300,
        )


async def _drawn(series: Series, begin: int, names: tuple[str, ...] | None) -> float:
    before = time.process_time()
    found = await series.read(
        Caller(name="alice"), "1", since=datetime.fromtimestamp(begin, UTC), ranks=[0], names=names
    )
    assert series_out(found).model_dump_json()
    return time.process_time() - before


def _as_sent(point: Point) -> dict[str, Any]:
    return {"at": point.at, "values": {name: list(spread) for name, spread in point.values.items()}}


def _points(begin: int, end: int, seed: int) -> Iterator[Point]:
    """Points of a rank whose GPUs work: their figures move a little from window to window."""
    chance = random.Random(seed)
    level: dict[str, float] = {}

    def spread(name: str, least: float, most: float, step: float) -> Spread:
        now = level.get(name, (least + most) / 2) + chance.gauss(0, step)
        level[name] = now = min(most, max(least, now))
        width = step * (1 + chance.random())
        return Spread(round(max(0, now - width), 3), round(now, 3), round(now + width, 3))

    def same(value: float) -> Spread:
        return Spread(value, value, value)

    for at in range(begin + 10, end + 10, 10):
        values = {
            "cpu": spread("cpu", 4, 12, 0.3),
            "memory": same(200e9),
            "disk_read": spread("disk_read", 0, 5e8, 2e7),
            "disk_written": same(0),
        }
        for gpu in range(GPUS):
            own = f"gpu{gpu}_"
            values |= {
                own + "use": spread(own + "use", 90, 100, 0.5),
                own + "memory": same(70e9),
                own + "power": spread(own + "power", 550, 650, 5),
                own + "power_limit": same(700),
                own + "clock": same(1980),
                own + "slowed": same(0),
                own + "errors": same(0),
                own + "processes": same(1),
                own + "sm": spread(own + "sm", 75, 95, 1),
                own + "tensor": spread(own + "tensor", 30, 50, 1),
                own + "dram": spread(own + "dram", 40, 60, 1),
            }
        yield Point(at, values)
