"""What metrics of ranks cost: the rank that samples, the service that takes and keeps them, and a day of them read."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench import metrics_taking
from bench.figures import Report, say
from bench.metrics_points import GPUS, as_sent, points_of
from hai_client.metrics.packing import packed
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.api.convert.metrics import series_out
from hai_scheduler.core.metrics.packing import pack
from hai_scheduler.core.metrics.retention import DAY, HOUR
from hai_scheduler.core.metrics.series import fold
from hai_scheduler.core.metrics.series_piece import RankPiece, read_piece
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.store import Store
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.metrics.reading import Series
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.store.store import open_store
from kit import nvml
from kit.builders import a_run, a_spec, a_task
from kit.worlds import make_world

TOPIC: Final = "metrics of ranks"
RANKS: Final = 1500
#: Seconds for which the sampling of a rank is measured.
SAMPLED_S: Final = 30.0
#: What each rank sends at once where 1,500 ranks send (`service/metrics/pace.py`), seconds.
PIECE_S: Final = 150
#: What a picture of all GPUs asks for.
DRAWN: Final = ("cpu", "memory", *(f"gpu{gpu}_{name}" for gpu in range(GPUS) for name in ("use", "memory", "power")))


def measure(report: Report) -> None:
    """Measure all of it."""
    say("sampling of a rank with 8 GPUs")
    _of_a_rank(report)
    api = metrics_taking.measure(report, TOPIC, RANKS)
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        loop = asyncio.run(_of_the_store(report, Path(temporary)))
    name = f"{RANKS} ranks: CPU of the service"
    report.add(TOPIC, name, api + loop, "%", "of a core: the API at its dearer, and the loop", at_most=5)


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


async def _of_the_store(report: Report, folder: Path) -> float:
    store = await open_store(f"sqlite+aiosqlite:///{folder}/hai.db")
    clock, pace = SystemClock(), Pace()
    end = int(time.time()) // HOUR * HOUR - 10
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(nodes=1), a_spec("train"))
        run = a_run(task.id, nodes=1)
        await tx.tasks.save(_running(task, run))
    say("a day of 8 GPUs")
    share = await _a_day(
        report, store, Series(make_world(store=store, clock=clock), pace=pace), run.id, end, folder / "hai.db"
    )
    await store.close()
    return share


def _running(task: Task, run: Run) -> Task:
    return replace(task, state=TaskState.RUNNING, run=run)


async def _a_day(report: Report, store: Store, series: Series, run_id: RunId, end: int, file: Path) -> float:
    """Measure a day of a rank; returns what packing takes of the loop, percent of a core."""
    begin = end - DAY + HOUR
    points = list(points_of(begin, end, 0))
    current = [point for point in points if point.at > end // HOUR * HOUR]
    earlier = points[: len(points) - len(current)]
    empty = _bytes_of(file)
    for first in range(0, len(earlier), PIECE_S // 10):
        piece = read_piece(packed([as_sent(point) for point in earlier[first : first + PIECE_S // 10]]))
        await store.series.add([RankPiece(run_id, 0, piece)])
    before, chunks = time.process_time(), 0
    while done := await store.series.pack(now=end, limit=10):
        chunks += done
    spent = (time.process_time() - before) / max(1, chunks)
    share = spent * RANKS / HOUR * 100
    report.add(TOPIC, "an hour of a rank with 8 GPUs, packed and folded", spent * 1000, "ms", "CPU")
    report.add(TOPIC, f"{RANKS} ranks: CPU of the loop for packing", share, "%", "of a core", at_most=5)
    on_disk = (_bytes_of(file) - empty) * DAY / (len(earlier) * 10)
    # The hour of now, in the small pieces of a task that somebody looks at.
    for point in current:
        await store.series.append(run_id, 0, [point])
    day = 24 * len(pack(earlier[:360])) + len(pack(fold(points, 60)))
    note = "the GPUs work all the time; points of 10 s and of minutes"
    report.add(TOPIC, f"{RANKS} ranks: stored in a day", day * RANKS / 1e9, "GB", note, at_most=0.75)
    note = "pages of SQLite with their indexes; minutes by the hour, until the day is over"
    report.add(TOPIC, f"{RANKS} ranks: on the disk after a day", on_disk * RANKS / 1e9, "GB", note)
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
    return share


def _bytes_of(file: Path) -> int:
    """How much of a database is in use."""
    with closing(sqlite3.connect(file)) as database:
        size, pages, free = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
        )
    return int(size * (pages - free))


async def _drawn(series: Series, begin: int, names: tuple[str, ...] | None) -> float:
    before = time.process_time()
    found = await series.read(
        Caller(name="alice"), "1", since=datetime.fromtimestamp(begin, UTC), ranks=[0], names=names
    )
    assert series_out(found).model_dump_json()
    return time.process_time() - before
