"""Values as rows and back: of every time and text, and of rows that older versions have written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Table

from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.ids import Origin, TaskId
from hai_scheduler.core.model.leaving import Left, Signal, SignalName, Source
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Checkpoint, RankState, Run
from hai_scheduler.core.model.task import Retry, Task, TaskSpec, TaskState
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.store import rows
from hai_scheduler.store.codec import RowCodec, of_instant, to_instant
from hai_scheduler.store.tables import EVENTS, RUNS, SPECS, TASKS
from kit.builders import T0, a_checkpoint, a_notice, a_pin, a_rank, a_run, a_task, at

NOTHING: Mapping[str, Any] = MappingProxyType({})
FULL_RUN = a_run(
    ranks=(
        a_rank(0, gpus=(1, 3), state=RankState.EXITED, exit_code=3, signal=9, ended_at=at(5), notified_at=at(4),
               signalled=True, caught=False, done=True, message="m", unstarted=Blame.UNKNOWN, supervisor_killed=True),
        a_rank(1),
    ),
    running_at=at(1), ended_at=at(9), notice=a_notice(beneficiary=TaskId(8), revision=4), killed_at=at(8), done=True,
    checkpoint=a_checkpoint(source=Source.SEEN), reason=Reason.FAILED, left=Left.SAVED, lost=timedelta(microseconds=7),
    failed_ranks=(0,), origin=Origin("a1b2", 3), haienv=a_pin(latest=True, variables={"A": "ä"}),
)  # fmt: skip
FULL_TASK = a_task(
    7, version=4, state=TaskState.SUSPENDED, run=FULL_RUN, priority=None, gpus=2,
    signal=Signal(name=SignalName.USR1, before=timedelta(seconds=60)), time_limit=timedelta(hours=1), held=True,
    custom_rank=3,
    served=timedelta(microseconds=1), suspensions=2, unsaved=1, avoid=frozenset({"b", "a"}), promise=frozenset({"c"}),
    failed_starts=1, retry=Retry(count=2, backoff=timedelta(seconds=3), exit_codes=frozenset({4, 1})), retries=1,
    not_before=at(99), rotations=(at(1), at(2)), leaving_took=timedelta(seconds=2), starting_took=timedelta(seconds=3),
    checkpoint=a_checkpoint(None, path=None), job_state="x", reason=Reason.TURN_OVER, ended_at=None,
)  # fmt: skip


def stored(values: dict[str, Any]) -> dict[str, Any]:
    """Values as a database gives them back: what is no plain value has been JSON."""
    return {name: json.loads(json.dumps(value)) for name, value in values.items()}


def back(codec: RowCodec[Any], table: Table, value: Any, *, more: Mapping[str, Any] = NOTHING, **older: Any) -> Any:
    """The value from its row; `more` are further columns, `older` are columns as an older version has written them."""
    values = {**stored(codec.values(value)), **more, **older}
    return codec.of([values.get(column.name) for column in table.columns])


def task_back(task: Task) -> Task:
    values = {"id": task.id, **stored(rows.task_values(task))}
    run = [None] * len(RUNS.columns) if task.run is None else list(run_row(task.run))
    row: Any = [*(values.get(column.name) for column in TASKS.columns), *run]
    return rows.task_with_run(row)


def run_row(run: Run, **older: Any) -> list[Any]:
    values = {**stored(rows.RUN.values(run, task_id=7)), **older}
    return [values[column.name] for column in RUNS.columns]


def run_back(run: Run, **older: Any) -> Run:
    """The run from its columns; `older` are columns as an older version has written them."""
    return rows.RUN.of(run_row(run, **older))


# -- whole values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [a_task(), FULL_TASK, a_task(state=TaskState.FAILED)], ids=["bare", "full", "ended"])
def test_a_task_comes_back(task: Task) -> None:
    assert task_back(task) == task


@pytest.mark.parametrize("run", [a_run(), a_run(running_at=None), FULL_RUN], ids=["bare", "starting", "full"])
def test_a_run_comes_back(run: Run) -> None:
    assert run_back(run) == run


def test_every_column_has_a_value_and_every_value_a_column() -> None:
    spec = TaskSpec(command=(), cwd="")
    assert set(rows.RUN.values(FULL_RUN, task_id=7)) == {column.name for column in RUNS.columns}
    assert set(rows.SPEC.values(spec, task_id=7)) | {"data"} == {column.name for column in SPECS.columns}
    assert set(rows.event_values(HistoryEvent(at=T0, kind="x", actor="a"))) == {
        column.name for column in EVENTS.columns
    } - {"seq"}
    set_by_the_store = {"id", "idempotency_key", "saved_at", "change", "size"}
    assert {column.name for column in TASKS.columns} - set(rows.task_values(FULL_TASK)) == set_by_the_store


@pytest.mark.parametrize("state", list(TaskState))
def test_an_ended_task_is_marked_so(state: TaskState) -> None:
    assert rows.task_values(a_task(state=state))["ended"] is state.ended


def test_a_spec_and_an_event_come_back_and_share_nothing() -> None:
    spec = TaskSpec(
        command=("python", "a b"), cwd="/w", env={"A": "1"}, ranks_per_node="gpu", checkpoint_dir="/c", watch=("x",),
        tags=("t",), environment="torch", haienv=a_pin(), snapshot=CodeSnapshot(digest="d", files=1, size=2),
    )  # fmt: skip
    values = rows.SPEC.values(spec)
    values["env"]["B"] = "2"
    assert dict(spec.env) == {"A": "1"}
    assert back(rows.SPEC, SPECS, spec) == spec
    event = HistoryEvent(seq=3, at=T0, kind="task.held", actor="ann", user="ann", task_id=TaskId(7), data={"a": [1]})
    assert back(rows.EVENT, EVENTS, event, more={"seq": 3}) == event


def test_sets_are_written_in_one_order() -> None:
    """Equal values have equal rows."""
    values = rows.task_values(FULL_TASK)
    assert values["avoid"] == ["a", "b"]
    assert values["retry"]["exit_codes"] == [1, 4]
    assert rows.task_values(a_task())["avoid"] is None


# -- times --------------------------------------------------------------------------------------------------


@given(st.datetimes(datetime(2, 1, 1), datetime(8999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_any_time_of_our_calendar_comes_back_to_a_microsecond(when: datetime) -> None:
    assert of_instant(to_instant(when)) == when


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, 10**30])
def test_a_time_outside_of_the_calendar_is_moved_into_it(value: int) -> None:
    """A row that cannot be read would stop every tick; there is room for sums."""
    found = of_instant(value)
    assert 2 <= found.year <= 9000
    assert found + timedelta(days=365) > found > datetime(1, 1, 2, tzinfo=UTC)


def test_a_time_has_a_zone() -> None:
    assert to_instant(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    with pytest.raises(TypeError):
        to_instant(datetime(2026, 1, 5))  # noqa: DTZ001


# -- texts of jobs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (None, None),
        ("plain", "plain"),
        ("ä \U0001f600", "ä \U0001f600"),
        ("a\0b", "a\ufffdb"),
        ("ä\0", "ä\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
def test_what_no_database_takes_of_a_jobs_text_is_replaced(text: str | None, kept: str | None) -> None:
    assert rows.task_values(a_task(job_state=text))["job_state"] == kept


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_of_a_job_can_be_stored(text: str) -> None:
    kept = rows.task_values(a_task(job_state=text))["job_state"]
    assert "\0" not in kept
    kept.encode("utf-8")


# -- rows of older versions ---------------------------------------------------------------------------------


def older_ranks(run: Run, *without: str) -> list[dict[str, Any]]:
    ranks = stored(rows.RUN.values(run))["ranks"]
    return [{name: value for name, value in rank.items() if name not in without} for rank in ranks]


def test_ranks_that_were_written_before_some_fields_were_known_are_read() -> None:
    ranks = older_ranks(FULL_RUN, "gpus", "signal", "ended_at", "signalled", "caught", "unstarted", "supervisor_killed")
    rank = run_back(FULL_RUN, ranks=ranks).ranks[0]
    assert rank == replace(
        FULL_RUN.ranks[0], gpus=(), signal=None, ended_at=None, signalled=None, caught=None, unstarted=None,
        supervisor_killed=False,
    )  # fmt: skip


def test_a_checkpoint_without_a_source_was_reported_by_its_job() -> None:
    older = {"at": to_instant(T0), "step": 3, "path": "p"}
    assert run_back(FULL_RUN, checkpoint=older).checkpoint == Checkpoint(at=T0, step=3, path="p", source=Source.TOLD)


def test_what_was_never_written_is_empty_and_what_is_empty_is_not_written() -> None:
    bare = TaskSpec(command=("x",), cwd="/")
    assert (rows.SPEC.values(bare)["watch"], rows.SPEC.values(bare)["tags"]) == (None, [])
    assert back(rows.SPEC, SPECS, replace(bare, watch=("a",)), watch=None) == bare
    found = run_back(FULL_RUN, origin=None, haienv=None, failed_ranks=None)
    assert (found.origin, found.haienv, found.failed_ranks) == (None, None, ())


def test_what_a_later_version_has_written_is_left_out() -> None:
    ranks = [{**rank, "colour": "red"} for rank in stored(rows.RUN.values(FULL_RUN))["ranks"]]
    assert run_back(FULL_RUN, ranks=ranks) == FULL_RUN


@pytest.mark.parametrize("level", [None, *Priority])
def test_every_priority_comes_back(level: Priority | None) -> None:
    assert task_back(a_task(priority=level)).priority is level


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_comes_back(reason: Reason) -> None:
    assert task_back(a_task(reason=reason)).reason is reason
    assert run_back(a_run(reason=reason)).reason is reason
