"""Whom a notice is for, and what each was told."""

from __future__ import annotations

import os

import pytest

from hai_client.linux.processes import Process, read_table
from hai_client.rank.notices.roster import NoticedWorker, Roster


@pytest.fixture
def table() -> dict[int, Process]:
    return read_table()


@pytest.fixture
def roster() -> Roster:
    return Roster(None)


@pytest.fixture
def worker(roster: Roster, table: dict[int, Process]) -> NoticedWorker:
    roster.note(table, [os.getpid()])
    return roster.workers[os.getpid()]


def test_a_worker_is_noted_once(roster: Roster, worker: NoticedWorker, table: dict[int, Process]) -> None:
    roster.take_signal(worker)
    roster.note(table, [os.getpid()])
    assert roster.workers == {os.getpid(): worker}
    assert roster.untold(table) == []


def test_a_latecomer_never_becomes_a_worker(roster: Roster, table: dict[int, Process]) -> None:
    me = table[os.getpid()]
    roster.late[me.pid] = me.start
    roster.note(table, [me.pid])
    assert roster.workers == {}
    assert roster.is_noted(me)


def test_a_pid_that_is_used_again_is_another_process(roster: Roster, table: dict[int, Process]) -> None:
    me = table[os.getpid()]
    roster.late[me.pid] = me.start - 1
    assert not roster.is_noted(me)
    roster.note(table, [me.pid])
    assert list(roster.workers) == [me.pid]


def test_a_worker_that_catches_its_signal_saves_until_it_is_gone(
    roster: Roster, worker: NoticedWorker, table: dict[int, Process]
) -> None:
    assert roster.caught is None
    roster.take_signal(worker)
    assert (roster.caught, roster.is_saving(table), roster.is_saving({})) == (True, True, False)
    assert roster.is_there(busy=False)


def test_one_that_does_not_catch_its_signal_makes_the_answer_no_for_good(
    roster: Roster, worker: NoticedWorker, table: dict[int, Process]
) -> None:
    roster.take_signal(worker, ended_at=1.0)
    roster.take_signal(worker)
    assert roster.caught is False
    assert (roster.is_saving(table), roster.is_idle(table), roster.is_idle({})) == (False, False, True)


def test_only_while_something_is_written_does_an_untold_worker_count_as_there(
    roster: Roster, worker: NoticedWorker
) -> None:
    assert not roster.is_there(busy=False)
    assert roster.is_there(busy=True)
    worker.listens = True
    assert not roster.is_there(busy=True)


def test_the_driver_of_a_ray_that_was_ended_leaves_nothing_to_save(
    roster: Roster, worker: NoticedWorker, table: dict[int, Process]
) -> None:
    roster.take_signal(worker, ended_at=1.0)
    assert not roster.ray_ended
    worker.drives = True
    assert roster.ray_ended
    assert roster.is_idle(table)
