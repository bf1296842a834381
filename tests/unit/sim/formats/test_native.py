"""HAI's own traces: what is read, what is written, and what is said of bad lines."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.sim.formats.errors import TraceError
from hai_scheduler.sim.formats.native import FIELDS, lines_of
from hai_scheduler.sim.formats.native import read as read_native
from hai_scheduler.sim.formats.source import EPOCH
from hai_scheduler.sim.formats.trace import Traced, TraceReading
from hai_scheduler.sim.scenario import Manner
from unit.sim.formats.trace_files import JOB, assert_refused, read


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


def test_a_trace_says_how_its_jobs_are(tmp_path) -> None:
    file = tmp_path / "trace.jsonl"
    job = '{"submitted_at": "2026-01-05T08:00:00Z", "work_s": 5, "nodes": 1, "user": "a"'
    file.write_text(f'{job}}}\n{job}, "manner": "neither"}}\n')
    trace = read_native(str(file), TraceReading())
    assert [job.manner for job in trace.jobs] == [Manner.CATCHES, Manner.NEITHER]
    again = tmp_path / "again.jsonl"
    again.write_text("\n".join(lines_of(trace.jobs, about="x")) + "\n")
    assert [job.manner for job in read_native(str(again), TraceReading()).jobs] == [Manner.CATCHES, Manner.NEITHER]
    file.write_text(f'{job}, "manner": "rude"}}\n')
    with pytest.raises(TraceError, match="catches, polls, neither"):
        read_native(str(file), TraceReading())


def written(**job: object) -> dict:
    """The second line of a trace with one job."""
    _, line = lines_of(
        [Traced(**{"line": 2, "submitted_at": EPOCH, "work": timedelta(0), "nodes": 1, **job})], about="x"
    )
    return json.loads(line)


@given(
    work=st.integers(0, 10**9), limit=st.none() | st.integers(1, 10**9),
    gpus=st.none() | st.integers(1, 8),
    priority=st.none() | st.sampled_from(Priority), manner=st.sampled_from(Manner),
    user=st.sampled_from(["", "ann", "ä b"]),
)  # fmt: skip
def test_any_job_comes_back_as_it_was_written(tmp_path_factory, work, limit, gpus, priority, manner, user) -> None:
    """To a millisecond: lengths of time are written in seconds with three digits."""
    job = Traced(
        2, EPOCH, timedelta(milliseconds=work), 1, gpus, user or "users-01", "", priority, manner=manner,
        time_limit=None if limit is None else timedelta(milliseconds=limit),
    )  # fmt: skip
    text = "\n".join(lines_of([job], about="x"))
    assert read(tmp_path_factory.getbasetemp(), "any.jsonl", text).jobs == (job,)


def test_what_is_as_usual_is_not_written() -> None:
    assert written() == {"submitted_at": "2024-01-01T00:00:00Z", "work_s": 0, "nodes": 1, "priority": "NORMAL"}


def test_numbers_are_whole_where_they_can_be() -> None:
    assert written(work=timedelta(seconds=2))["work_s"] == 2
    assert isinstance(written(work=timedelta(seconds=2))["work_s"], int)
    assert written(work=timedelta(seconds=1.23456))["work_s"] == 1.235


def test_a_job_may_have_every_field_and_null_counts_as_absent(tmp_path: Path) -> None:
    whole = {
        **JOB, "gpus": 2, "user": "ann", "user_group": "vision", "priority": "AUTO", "group": "dev", "name": "x",
        "time_limit_s": 60, "saves_in_s": 1, "saves_every_s": 2, "manner": "polls", "idle_share": 0.5,
    }  # fmt: skip
    assert set(whole) == set(FIELDS)
    nothing = {**JOB, "group": "dev", **dict.fromkeys(set(FIELDS) - set(JOB) - {"group"})}
    full, bare = read(tmp_path, "t.jsonl", "\n".join(map(json.dumps, (whole, nothing)))).jobs
    assert full[1:] == (
        EPOCH, timedelta(minutes=1), 1, 2, "ann", "vision", None, "dev", "x", timedelta(minutes=1),
        timedelta(seconds=1), timedelta(seconds=2), Manner.POLLS, 0.5,
    )  # fmt: skip
    assert (bare.gpus, bare.priority, bare.time_limit, bare.saves_every, bare.manner) == (
        None, Priority.NORMAL, None, None, Manner.CATCHES,
    )  # fmt: skip


def test_a_header_alone_has_no_jobs_and_a_header_in_the_middle_is_no_job(tmp_path: Path) -> None:
    assert_refused(tmp_path, "native", '{"hai_trace": 1}\n', "has no jobs", "name a file")
    text = f'{json.dumps(JOB)}\n{{"hai_trace": 1}}\n'
    assert_refused(tmp_path, "native", text, "line 2: hai_trace: is unknown", "submitted_at")


@pytest.mark.parametrize("value", [5, "x", {"a": 1}, [1], [["a"]]])
def test_users_and_quotas_of_another_shape_are_refused(tmp_path: Path, value: object) -> None:
    for name in ("users", "quotas"):
        assert_refused(tmp_path, "native", json.dumps({"hai_trace": 1, name: value}), f"{name}", "write")


def test_csv_is_told_by_the_name_of_the_file(tmp_path: Path) -> None:
    text = "submitted_at,work_s,nodes\n2024-01-01,60,1\n"
    assert len(read(tmp_path, "T.CSV", text).jobs) == 1
    with pytest.raises(TraceError, match="is not a JSON object"):
        read(tmp_path, "t.txt", text)


# -- what is refused --------------------------------------------------------------------------------


BAD_FILES = {
    "no jobs at all": ("\n", "has no jobs", "name a file"),
    "a list": ("[]\n", "line 1: is not a JSON object", "one job"),
    "no JSON": (f"{json.dumps(JOB)}\n{{\n", "line 2: is not a JSON object", "one job"),
    "an unknown field": (json.dumps({**JOB, "gpu": 1}), "line 1: gpu: is unknown", "submitted_at"),
    "a field is missing": ('{"submitted_at": "2024-01-01", "work_s": 1}', "nodes: is missing", "at least"),
    "a truth for a number": (json.dumps({**JOB, "nodes": True}), "nodes is True", "write a number"),
    "a number for a text": (json.dumps({**JOB, "user": 5}), "user is 5", "write a text"),
    "a name that steers": (json.dumps({**JOB, "user": "\x1b[2J"}), "user is '\\x1b[2J'", "printable"),
    "no priority": (json.dumps({**JOB, "priority": "TOP"}), "priority is 'TOP'", "VERY_HIGH"),
    "no limit": (json.dumps({**JOB, "time_limit_s": 0}), "time_limit_s is 0", "more than 0"),
    "another version": ('{"hai_trace": 2}\n', "hai_trace is 2", "version 1"),
    "no users": ('{"hai_trace": 1, "users": ["ann"]}\n', "users is ['ann']", "USER GROUP"),
    "no subject": ('{"hai_trace": 1, "quotas": [{"subject": "ann"}]}\n', "quotas.subject", "user:NAME"),
    "auto has no quota": (
        '{"hai_trace": 1, "quotas": [{"subject": "public", "priority": "AUTO"}]}',
        "quotas.priority",
        "other",
    ),
    "a negative quota": (
        '{"hai_trace": 1, "quotas": [{"subject": "public", "limit": -1}]}\n',
        "quotas.limit is -1",
        "from 0",
    ),
    "an unknown user": (
        f'{{"hai_trace": 1, "users": {{"ann": []}}}}\n{json.dumps({**JOB, "user": "bob"})}\n',
        "line 2: user is 'bob'",
        "first line",
    ),
    "several node groups": (
        f"{json.dumps({**JOB, 'group': 'a'})}\n{json.dumps({**JOB, 'group': 'b'})}\n",
        "(a, b)",
        "--group",
    ),
}


@pytest.mark.parametrize(("text", "where", "remedy"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_with_place_value_and_remedy(tmp_path: Path, text: str, where: str, remedy: str) -> None:
    assert_refused(tmp_path, "native", text, where, remedy)
