"""Public traces: those of Philly, of Tiresias and of Muri."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.sim.formats import FORMATS
from hai_scheduler.sim.formats.source import EPOCH
from hai_scheduler.sim.formats.trace import TraceReading
from unit.sim.formats.trace_files import TIRESIAS, day, philly, read

#: Where the public traces are kept, beside the repository.
TRACES = Path(os.environ.get("HAI_TRACES", Path(__file__).parents[5] / "shared" / "traces"))


def test_philly_s_virtual_clusters_are_user_groups(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-02 00:00:05,66.5,4,266,b", "2017-10-01 00:00:00,100,16,1600,a")
    first, second = trace.jobs
    assert (first.submitted_at, first.work, first.nodes, first.gpus) == (day(1), timedelta(seconds=100), 2, None)
    assert (second.nodes, second.gpus, second.user_group, second.line) == (1, 4, "b", 2)
    assert second.user.startswith("b-")
    assert trace.groups_of[second.user] == {"b"}
    assert any("names no users" in note for note in trace.notes)


def test_muri_counts_in_milliseconds_and_tiresias_in_seconds(tmp_path: Path) -> None:
    text = TIRESIAS + "7,8,1000,1,vgg,2000,0\n"
    (muri,) = read(tmp_path, "t.csv", text, "muri").jobs
    (tiresias,) = read(tmp_path, "t.csv", text, "tiresias").jobs
    assert (muri.submitted_at, muri.work) == (EPOCH + timedelta(seconds=1), timedelta(seconds=2))
    assert (tiresias.submitted_at, tiresias.work) == (EPOCH + timedelta(seconds=1000), timedelta(seconds=2000))
    assert (tiresias.name, tiresias.nodes, tiresias.gpus) == ("7", 1, None)


@pytest.mark.skipif(not (TRACES / "philly").is_dir(), reason=f"the public traces are not at {TRACES.name}")
def test_the_public_philly_trace_is_read_quickly() -> None:
    began = time.process_time()
    trace = FORMATS["philly"](
        str(TRACES / "philly" / "philly.csv"), TraceReading(begin=day(1), end=day(1) + timedelta(days=61))
    )
    assert time.process_time() - began < 6, "2 seconds on a quiet machine"
    assert len(trace.jobs) == 68_510
    hours = sum(job.work.total_seconds() / 3600 * (job.gpus or job.nodes * 8) for job in trace.jobs)
    assert round(hours, -2) == 690_900
