"""Traces: what is read from good files, and what is said of bad ones."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.sim.formats import FORMATS
from hai_scheduler.sim.formats.errors import TraceError
from hai_scheduler.sim.formats.native import lines_of
from hai_scheduler.sim.formats.source import EPOCH
from hai_scheduler.sim.formats.trace import Trace, Traced, TraceReading, jobs_of, parts_of
from hai_scheduler.sim.scenario import cluster_of

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"
TIRESIAS = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
#: Where the public traces are kept, beside the repository.
TRACES = Path(os.environ.get("HAI_TRACES", Path(__file__).parents[4] / "shared" / "traces"))


def read(folder: Path, name: str, text: str, kind: str = "native", **reading: object) -> Trace:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return FORMATS[kind](str(path), TraceReading(**reading))


def philly(folder: Path, *rows: str, **reading: object) -> Trace:
    return read(folder, "philly.csv", PHILLY + "\n".join(rows) + "\n", "philly", **reading)


def day(number: int, hour: int = 0) -> datetime:
    return datetime(2017, 10, number, hour, tzinfo=UTC)


# -- what is read -----------------------------------------------------------------------------------


def test_gpus_become_parts_of_a_node_or_whole_nodes() -> None:
    assert [parts_of(gpus, 8) for gpus in (1, 7, 8, 9, 16)] == [(1, 1), (1, 7), (1, None), (2, None), (2, None)]


def test_philly_s_virtual_clusters_are_user_groups(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-02 00:00:05,66.5,4,266,b", "2017-10-01 00:00:00,100,16,1600,a")
    first, second = trace.jobs
    assert (first.submitted_at, first.work, first.nodes, first.gpus) == (day(1), timedelta(seconds=100), 2, None)
    assert (second.nodes, second.gpus, second.user_group, second.line) == (1, 4, "b", 2)
    assert second.user.startswith("b-")
    assert trace.groups_of[second.user] == {"b"}
    assert any("names no users" in note for note in trace.notes)


def test_made_up_users_depend_on_the_seed_alone(tmp_path: Path) -> None:
    rows = [f"2017-10-01 00:00:{second:02d},5,1,5,{'ab'[second % 2]}" for second in range(60)]
    users = [[job.user for job in philly(tmp_path, *rows, seed=seed).jobs] for seed in (1, 1, 2)]
    assert users[0] == users[1] != users[2]
    assert 2 < len(set(users[0])) <= 40
    alone = philly(tmp_path, *rows, seed=1, only=frozenset({"a"})).jobs
    assert [job.user for job in alone] == [user for user in users[0] if user.startswith("a-")]


def test_muri_counts_in_milliseconds_and_tiresias_in_seconds(tmp_path: Path) -> None:
    text = TIRESIAS + "7,8,1000,1,vgg,2000,0\n"
    (muri,) = read(tmp_path, "t.csv", text, "muri").jobs
    (tiresias,) = read(tmp_path, "t.csv", text, "tiresias").jobs
    assert (muri.submitted_at, muri.work) == (EPOCH + timedelta(seconds=1), timedelta(seconds=2))
    assert (tiresias.submitted_at, tiresias.work) == (EPOCH + timedelta(seconds=1000), timedelta(seconds=2000))
    assert (tiresias.name, tiresias.nodes, tiresias.gpus) == ("7", 1, None)


def test_a_window_is_of_times_or_of_offsets_from_the_first_submission(tmp_path: Path) -> None:
    rows = [f"2017-10-{number:02d} 12:00:00,5,1,5,a" for number in range(1, 6)]
    times = philly(tmp_path, *rows, begin=day(2), end=day(4, 12))
    assert [job.submitted_at.day for job in times.jobs] == [2, 3]
    offsets = philly(tmp_path, *rows, begin=timedelta(days=1), end=timedelta(days=3))
    assert [job.submitted_at.day for job in offsets.jobs] == [2, 3]


def test_native_jobs_come_back_as_they_were_written(tmp_path: Path) -> None:
    jobs = [
        Traced(2, EPOCH, timedelta(seconds=1.5), 2, None, "ann", "vision", None, name="x"),
        Traced(
            3, EPOCH + timedelta(seconds=9), timedelta(hours=1), 1, 4, "bob", "", Priority.HIGH, "training", "y",
            timedelta(hours=2), timedelta(seconds=20), timedelta(minutes=30),
        ),
    ]  # fmt: skip
    trace = read(tmp_path, "t.jsonl", "\n".join(lines_of(jobs, about="a test")) + "\n")
    assert list(trace.jobs) == jobs
    assert trace.groups_of == {"ann": {"vision"}}
    assert trace.quotas is None


def test_native_csv_has_the_same_names_as_columns(tmp_path: Path) -> None:
    text = "submitted_at,work_s,nodes,gpus,user,priority\n2024-01-01,60,1,4,ann,HIGH\n\n2024-01-02,60,2,,ann,\n"
    first, second = read(tmp_path, "t.csv", text).jobs
    assert (first.gpus, first.priority, first.user) == (4, Priority.HIGH, "ann")
    assert (second.gpus, second.priority, second.line) == (None, Priority.NORMAL, 4)


def test_a_native_file_may_say_users_and_quota(tmp_path: Path) -> None:
    header = {
        "hai_trace": 1,
        "users": {"ann": ["vision"], "bob": []},
        "quotas": [{"subject": "group:vision", "limit": 2}, {"subject": "public", "priority": "LOW", "limit": None}],
    }
    job = {"submitted_at": "2024-01-01T00:00:00+01:00", "work_s": 60, "nodes": 1, "user": "ann"}
    trace = read(tmp_path, "t.jsonl", f"{json.dumps(header)}\n{json.dumps(job)}\n")
    assert trace.groups_of == {"ann": {"vision"}, "bob": frozenset()}
    assert trace.jobs[0].submitted_at == EPOCH - timedelta(hours=1)
    assert trace.quotas == (
        Quota(subject="group:vision", group="training", priority=Priority.NORMAL, limit=2),
        Quota(subject="public", group="training", priority=Priority.LOW, limit=None),
    )


def test_jobs_are_numbered_in_the_order_of_their_submission(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-02 00:00:00,5,1,5,a", "2017-10-01 00:00:00,5,8,5,a")
    jobs, notes = jobs_of(trace, cluster_of(2, group="training"))
    assert [(job.task.id, job.task.gpus, job.task.submitted_at.day) for job in jobs] == [(1, None, 1), (2, 1, 2)]
    assert notes == []


def test_jobs_that_are_too_large_can_be_left_out(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-01 00:00:00,5,64,5,a", "2017-10-01 00:00:00,5,8,5,a")
    jobs, notes = jobs_of(trace, cluster_of(4), skip_too_large=True)
    assert len(jobs) == 1
    assert notes == ["1 jobs of up to 8 nodes were left out: the cluster has 4"]


# -- what is refused --------------------------------------------------------------------------------

JOB = {"submitted_at": "2024-01-01", "work_s": 60, "nodes": 1}
BAD_FILES = {
    "a column is missing": ("philly", "timestamp,duration,num_gpus\n", "line 1: columns", "cluster is missing"),
    "nothing in it": ("philly", "", "line 1: columns", "are missing"),
    "no jobs": ("philly", PHILLY, "has no jobs", "name a file"),
    "no jobs at all": ("native", "\n", "has no jobs", "name a file"),
    "a negative duration": ("philly", PHILLY + "2017-10-01,-3,1,1,a\n", "line 2: duration is '-3'", "0 or more"),
    "no number": ("philly", PHILLY + "2017-10-01,nan,1,1,a\n", "line 2: duration is 'nan'", "0 or more"),
    "more than ten years": ("philly", PHILLY + "2017-10-01,1e12,1,1,a\n", "line 2: duration", "ten years"),
    "negative gpus": ("philly", PHILLY + "2017-10-01,3,-1,1,a\n", "line 2: num_gpus is '-1'", "from 1"),
    "half a gpu": ("philly", PHILLY + "2017-10-01,3,1.5,1,a\n", "line 2: num_gpus is '1.5'", "whole number"),
    "endless gpus": ("philly", PHILLY + "2017-10-01,3,inf,1,a\n", "line 2: num_gpus is 'inf'", "whole number"),
    "no time": ("philly", PHILLY + "soon,3,1,1,a\n", "line 2: timestamp is 'soon'", "2026-01-05T08:00:00Z"),
    "a time of another age": ("philly", PHILLY + "0017-10-01,3,1,1,a\n", "line 2: timestamp", "1970 to 2200"),
    "a torn line": ("philly", PHILLY + "2017-10-01,3\n", "line 2: has 2 fields, not 5", "repair"),
    "another format": ("muri", PHILLY + "2017-10-01,3,1,1,a\n", "line 1: columns", "another --format"),
    "a list": ("native", "[]\n", "line 1: is not a JSON object", "one job"),
    "no JSON": ("native", f"{json.dumps(JOB)}\n{{\n", "line 2: is not a JSON object", "one job"),
    "an unknown field": ("native", json.dumps({**JOB, "gpu": 1}), "line 1: gpu: is unknown", "submitted_at"),
    "a field is missing": ("native", '{"submitted_at": "2024-01-01", "work_s": 1}', "nodes: is missing", "at least"),
    "a truth for a number": ("native", json.dumps({**JOB, "nodes": True}), "nodes is True", "write a number"),
    "a number for a text": ("native", json.dumps({**JOB, "user": 5}), "user is 5", "write a text"),
    "a name that steers": ("native", json.dumps({**JOB, "user": "\x1b[2J"}), "user is '\\x1b[2J'", "printable"),
    "no priority": ("native", json.dumps({**JOB, "priority": "TOP"}), "priority is 'TOP'", "VERY_HIGH"),
    "no limit": ("native", json.dumps({**JOB, "time_limit_s": 0}), "time_limit_s is 0", "more than 0"),
    "another version": ("native", '{"hai_trace": 2}\n', "hai_trace is 2", "version 1"),
    "no users": ("native", '{"hai_trace": 1, "users": ["ann"]}\n', "users is ['ann']", "USER GROUP"),
    "no subject": ("native", '{"hai_trace": 1, "quotas": [{"subject": "ann"}]}\n', "quotas.subject", "user:NAME"),
    "auto has no quota": (
        "native", '{"hai_trace": 1, "quotas": [{"subject": "public", "priority": "AUTO"}]}', "quotas.priority", "other",
    ),
    "a negative quota": (
        "native", '{"hai_trace": 1, "quotas": [{"subject": "public", "limit": -1}]}\n', "quotas.limit is -1", "from 0",
    ),
    "an unknown user": (
        "native", f'{{"hai_trace": 1, "users": {{"ann": []}}}}\n{json.dumps({**JOB, "user": "bob"})}\n',
        "line 2: user is 'bob'", "first line",
    ),
    "several node groups": (
        "native", f"{json.dumps({**JOB, 'group': 'a'})}\n{json.dumps({**JOB, 'group': 'b'})}\n", "(a, b)", "--group",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "where", "remedy"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_with_place_value_and_remedy(
    tmp_path: Path, kind: str, text: str, where: str, remedy: str
) -> None:
    with pytest.raises(TraceError) as refused:
        read(tmp_path, "bad.trace", text, kind)
    message = str(refused.value)
    assert message.startswith(str(tmp_path / "bad.trace"))
    assert where in message
    assert remedy in message
    assert "\n" not in message


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.csv: cannot be read: No such file"):
        FORMATS["philly"](str(tmp_path / "none.csv"), TraceReading())
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00\x9d")
    with pytest.raises(TraceError, match="not UTF-8"):
        FORMATS["philly"](str(tmp_path / "noise"), TraceReading())


def test_an_empty_window_names_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(
        TraceError, match="2017-10-01 00:00:00 to 2017-10-01 00:00:00 UTC, user groups: a; change --from"
    ):
        philly(tmp_path, "2017-10-01,5,1,5,a", begin=day(2))


def test_a_job_larger_than_the_cluster_is_refused_with_its_line(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-01,5,8,5,a", "2017-10-02,5,64,5,a")
    with pytest.raises(TraceError, match=r"line 3: .* 8 nodes and the cluster has 4 nodes; use --nodes 8 .* --skip"):
        jobs_of(trace, cluster_of(4))
    part = read(tmp_path, "t.jsonl", json.dumps({**JOB, "gpus": 12}))
    with pytest.raises(TraceError, match="--gpus-per-node 12"):
        jobs_of(part, cluster_of(4))


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
