"""The keeper around a supervisor: whichever of the two dies, no process of the rank is left (B4)."""

from __future__ import annotations

import fcntl
import os
import random
import signal
from pathlib import Path

import pytest

from hai_client.linux.processes import read_arguments, read_process, read_table
from kit.waiting import wait_for


@pytest.fixture
def nap() -> str:
    """A number of seconds that no other process sleeps: it identifies a process that has no environment."""
    return str(random.SystemRandom().randrange(10**6, 10**9))


def named(word: str) -> list[int]:
    """The ids of the processes that sleep `word` seconds, without the processes that started them."""
    table = read_table()
    return [pid for pid in table if not table[pid].zombie and read_arguments(pid) == ["sleep", word]]


def supervisor_of(bench) -> int:
    """The id of the supervisor, which is the parent of the command."""
    command = bench.status().get("pid")
    process = read_process(command) if command else None
    return process.parent if process else 0


def is_free(bench) -> bool:
    fd = os.open(bench.folder / "lock", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def nameless(nap: str) -> tuple[str, ...]:
    """A command that leaves a process without environment, in a session of its own, that no sample has seen."""
    return ("sh", "-c", f"env -i setsid sh -c 'trap \"\" TERM HUP INT; sleep {nap}; sleep {nap}' & sleep 600")


def test_the_keeper_ends_what_a_killed_supervisor_leaves(bench, nap) -> None:
    keeper = bench.start(*nameless(nap))
    wait_for("the nap to have started", lambda: named(nap))
    os.kill(supervisor_of(bench), signal.SIGKILL)
    assert keeper.wait(60) == 128 + signal.SIGKILL
    assert (named(nap), bench.processes()) == ([], [])
    assert is_free(bench)
    assert bench.status()["state"] == "running", "no end was seen: the rank counts as lost"
    assert "the supervisor was killed by signal 9" in (bench.folder / "supervisor.log").read_text()


def test_the_supervisor_ends_everything_when_its_keeper_is_killed(bench, nap) -> None:
    keeper = bench.start(*nameless(nap))
    wait_for("the nap to have started", lambda: named(nap))
    keeper.kill()
    keeper.wait()
    wait_for("the lock of the rank to be free", lambda: is_free(bench))
    assert (named(nap), bench.processes()) == ([], [])
    assert bench.status()["state"] == "running"
    assert "the process that keeps the supervisor was killed" in (bench.folder / "supervisor.log").read_text()


@pytest.mark.parametrize("target", ["supervisor", "keeper"])
def test_while_anything_of_the_rank_is_left_it_counts_as_supervised(bench, nap, target) -> None:
    keeper = bench.start(*nameless(nap))
    wait_for("the nap to have started", lambda: named(nap))
    pid = supervisor_of(bench) if target == "supervisor" else keeper.pid
    os.kill(pid, signal.SIGKILL)
    # Whenever the lock is free, no process is left. The lock is read first, so that the answer cannot be outdated.
    wait_for("the lock of the rank to be free", lambda: is_free(bench))
    assert (named(nap), bench.processes()) == ([], [])


def test_a_signal_to_the_process_group_does_not_reach_both(bench, nap) -> None:
    keeper = bench.start(*nameless(nap))
    wait_for("the nap to have started", lambda: named(nap))
    os.killpg(keeper.pid, signal.SIGKILL)
    keeper.wait()
    wait_for("the lock of the rank to be free", lambda: is_free(bench))
    assert (named(nap), bench.processes()) == ([], [])


def test_a_task_that_kills_its_supervisor_leaves_nothing(bench, nap) -> None:
    forks = f"i=0; while [ $i -lt 12 ]; do env -i setsid sleep {nap} & i=$((i+1)); done"
    keeper = bench.start("sh", "-c", f"{forks}; kill -9 $PPID; sleep 600")
    assert keeper.wait(60) == 128 + signal.SIGKILL
    assert (named(nap), bench.processes()) == ([], [])


def test_a_supervisor_that_is_stopped_goes_on_at_once(bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    bench.start("sh", "-c", f"kill -STOP $PPID; while [ ! -e {go} ]; do sleep 0.02; done; exit 4")
    wait_for("the supervisor", lambda: supervisor_of(bench))
    go.touch()
    assert bench.wait()["exit_code"] == 4


def test_both_stopped_heed_an_order_to_end_that_comes_with_sigcont(bench) -> None:
    keeper = bench.start("sleep", "600")
    wait_for("the command to have started", lambda: bench.status().get("pid"))
    os.kill(keeper.pid, signal.SIGSTOP)
    os.kill(supervisor_of(bench), signal.SIGSTOP)
    keeper.terminate()
    keeper.send_signal(signal.SIGCONT)
    assert bench.wait()["exit_code"] == 143


def test_a_stopped_supervisor_whose_keeper_is_killed_ends_the_rank_all_the_same(bench, nap) -> None:
    keeper = bench.start(*nameless(nap))
    wait_for("the nap to have started", lambda: named(nap))
    supervisor = supervisor_of(bench)
    os.kill(keeper.pid, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGSTOP)
    keeper.kill()
    keeper.wait()
    wait_for("the lock of the rank to be free", lambda: is_free(bench))
    assert (named(nap), bench.processes()) == ([], [])


def test_a_rank_whose_folder_is_removed_is_ended(bench, nap) -> None:
    import shutil

    bench.start(*nameless(nap))
    wait_for("the nap to have started", lambda: named(nap))
    shutil.rmtree(bench.folder)
    bench.supervisors[-1].wait(60)
    assert (named(nap), bench.processes()) == ([], [])


def test_a_supervisor_that_dies_before_it_has_recorded_anything_is_told_from_one_that_is_done(bench) -> None:
    bench.prepare("true")
    (bench.folder / "log").rmdir()
    (bench.folder / "log").write_text("in the way")
    assert bench.start().wait(60) == 1
    assert not (bench.folder / "status.json").exists()
    assert is_free(bench)
