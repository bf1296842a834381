"""The local cluster with ranks that are stopped, that kill their supervisor, or whose disk is full."""
# ruff: noqa: F811
# The fixture is imported.

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from hai_client.linux.processes import children_of, read_arguments, read_table
from hai_scheduler.adapters.local.runs import OVERDUE_S
from hai_scheduler.core.model.run import RankState
from integration.rank.test_local_cluster import RUN, World, world  # noqa: F401  a fixture
from kit.waiting import until


def platform_of(world: World) -> list[int]:
    """The ids of the keeper and the supervisor of the rank."""
    keeper = int((world.rank_folder() / "lock").read_text())
    return [keeper, *children_of(read_table()).get(keeper, ())]


@pytest.fixture
def nap() -> str:
    """A number of seconds that no other process sleeps: it identifies a process that has no environment."""
    return str(random.SystemRandom().randrange(10**6, 10**9))


def named(word: str) -> list[int]:
    table = read_table()
    return [pid for pid in table if not table[pid].zombie and read_arguments(pid) == ["sleep", word]]


@pytest.mark.parametrize("who", [[0], [1], [0, 1]], ids=["keeper", "supervisor", "both"])
async def test_a_rank_that_stops_the_platforms_processes_does_not_delay_its_end(world: World, who: list[int]) -> None:
    cluster = world.open()
    await cluster.launch(world.launch("sleep 600"))
    await world.ranks(cluster, RankState.RUNNING)
    platform = platform_of(world)
    for one in who:
        os.kill(platform[one], signal.SIGSTOP)
    before = time.monotonic()
    await cluster.kill(RUN)
    (rank,) = await world.ranks(cluster, RankState.EXITED)
    assert rank.exit_code == 143
    assert time.monotonic() - before < OVERDUE_S


async def test_a_supervisor_that_does_not_heed_the_order_is_killed_and_leaves_nothing(world: World, nap: str) -> None:
    cluster = world.open(term_wait_s=600)
    await cluster.launch(world.launch(f"trap '' TERM; env -i setsid sleep {nap} & while :; do sleep 0.1; done"))
    await world.ranks(cluster, RankState.RUNNING)

    async def up() -> bool:
        return bool(named(nap))

    await until("every process to be up", up)
    await cluster.kill(RUN)
    then = time.time() - 600 - 2 * OVERDUE_S
    os.utime(world.rank_folder() / "kill", (then, then))
    await cluster.kill(RUN)
    await world.ranks(cluster, RankState.LOST)
    said = (world.rank_folder() / "supervisor.log").read_text()
    assert "the supervisor was killed by signal 9" in said
    assert (named(nap), world.processes()) == ([], [])


async def test_a_task_that_kills_its_supervisor_is_lost_and_leaves_nothing(world: World, nap: str) -> None:
    forks = f"i=0; while [ $i -lt 12 ]; do env -i setsid sleep {nap} & i=$((i+1)); done"
    cluster = world.open()
    await cluster.launch(world.launch(f"{forks}; kill -9 $PPID; sleep 600"))
    (rank,) = await world.ranks(cluster, RankState.LOST)
    assert (named(nap), world.processes()) == ([], [])
    assert rank.message == "its supervisor was killed, or the machine was switched off"


async def test_lines_lost_on_a_full_disk_are_told_in_the_log_and_in_the_ranks_message(
    world: World, small_disk: Path
) -> None:
    cluster = world.open(runs_dir=small_disk / "runs")
    await cluster.launch(world.launch("seq -f %060.0f 1 8000"))
    (rank,) = await world.ranks(cluster, RankState.EXITED)
    assert rank.exit_code == 0
    assert rank.message.endswith(" of its log were lost: no space left on device")
    chunk = await cluster.read_log(RUN, 0, offset=0, limit=1 << 20)
    lines = [line.split(b" ", 1)[1].decode() for line in chunk.data.splitlines()]
    count = rank.message.split()[0]
    assert chunk.final
    assert lines[-1].startswith("[hai] ")
    assert lines[-1].endswith(" lost: no space left on device")
    assert len([line for line in lines if not line.startswith("[hai]")]) + int(count) == 8000


def kill_both_at_once(world: World) -> None:
    """Kill keeper and supervisor at the same moment, so that neither can end any process."""
    keeper, supervisor = platform_of(world)
    os.kill(keeper, signal.SIGSTOP)
    for pid in (supervisor, keeper):
        os.kill(pid, signal.SIGKILL)


async def test_what_both_leave_when_they_are_killed_at_once_is_found_by_its_variables(world: World) -> None:
    cluster = world.open()
    stubborn = "trap '' TERM; setsid sh -c 'trap \"\" TERM HUP; sleep 600' & setsid sleep 601 & sleep 602"
    await cluster.launch(world.launch(stubborn))

    async def up() -> bool:
        return len(world.processes()) >= 5

    await until("every process to be up", up)
    kill_both_at_once(world)
    await world.ranks(cluster, RankState.LOST)
    assert world.processes() == []


async def test_what_both_leave_and_has_no_variables_is_found_by_the_supervisors_list(world: World, nap: str) -> None:
    cluster = world.open()
    await cluster.launch(world.launch(f"env -i setsid sleep {nap} & sleep 600"))

    async def listed() -> bool:
        found, known = named(nap), world.rank_folder() / "processes"
        return bool(found) and known.exists() and f"\n{found[0]} " in known.read_text()

    await until("the process to be in the supervisor's list", listed)
    kill_both_at_once(world)
    await world.ranks(cluster, RankState.LOST)
    assert named(nap) == []
