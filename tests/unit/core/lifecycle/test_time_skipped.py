"""Time that did not pass: the clock was put forward, or the machine slept."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hai_scheduler.core.lifecycle import events as ev
from hai_scheduler.core.lifecycle.transitions import RingNotice, advance
from hai_scheduler.core.model.task import TaskState
from kit.builders import a_checkpoint, a_notice, a_task, at
from unit.core.lifecycle.test_transitions import exits, running


def test_time_that_was_skipped_is_neither_served_nor_taken_from_a_deadline() -> None:
    hour = timedelta(hours=1)
    task = a_task(state=TaskState.SUSPENDING)
    run = replace(running(task), running_at=at(1), notice=a_notice(at=at(5)), checkpoint=a_checkpoint(at=at(4)))
    skipped, effects = advance(replace(task, run=run), ev.TimeSkipped(at=at(10) + hour, by=hour))
    after = running(skipped)
    assert (after.started_at, after.running_at) == (run.started_at + hour, at(1) + hour)
    assert after.notice == replace(a_notice(at=at(5) + hour), revision=2), (
        "its deadline is an hour later, and ranks are told"
    )
    assert effects == (RingNotice(run.id),)
    assert after.checkpoint is not None
    assert after.checkpoint.at == at(4) + hour
    killed = replace(task, run=replace(run, killed_at=at(6)))
    after_kill, _ = advance(killed, ev.TimeSkipped(at=at(10) + hour, by=hour))
    assert running(after_kill).killed_at == at(6) + hour, "it was ended after its notice, as before"
    ended, _ = advance(skipped, replace(exits(143), at=at(61) + hour))
    assert ended.served == timedelta(seconds=60)


def test_a_replica_whose_clock_is_behind_takes_no_service_away() -> None:
    task = a_task(state=TaskState.RUNNING, served=timedelta(minutes=3))
    task = replace(task, run=replace(running(task), running_at=at(3600)))
    ended, _ = advance(task, exits(0))
    assert ended.served == timedelta(minutes=3)
