"""Which rank of a run failed first, and what it said last."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, RankState, Run
from hai_scheduler.service.logs.failures import READ_BYTES, Failure, Failures
from kit.worlds import make_world
from unit.service.logs.test_reading import Kept, T, a_run, line


def ended(number: int, code: int | None, second: float | None) -> Rank:
    at = None if second is None else T + timedelta(seconds=second)
    return Rank(rank=number, node=f"n{number}", state=RankState.EXITED, exit_code=code, ended_at=at)


def failed(*ranks: Rank, number: int = 1, of: tuple[int, ...] = (0, 1), live: bool = False) -> Run:
    run = a_run(number, ended=None if live else Reason.FAILED, failed_ranks=of)
    return replace(run, ranks=ranks or (ended(0, 1, 5), ended(1, 127, 4)))


async def failure_of(*runs: Run, logs: Kept | None = None) -> Failure | None:
    return await Failures(make_world(cluster=logs or Kept())).of(runs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ranks", "first"),
    [
        ((ended(0, 1, 5), ended(1, 127, 4)), 1),
        ((ended(0, 1, 4), ended(1, 127, 4)), 0),
        ((ended(0, 1, None), ended(1, 127, 4)), 1),
        ((ended(0, 1, None), ended(1, 127, None)), 0),
    ],
    ids=["earlier", "together", "one is known", "none is known"],
)
async def test_the_rank_that_ended_first_is_shown(ranks: tuple[Rank, ...], first: int) -> None:
    logs = Kept({("1.1", 0): line("of rank 0"), ("1.1", 1): line("of rank 1")})
    found = await failure_of(failed(*ranks), logs=logs)
    assert found is not None
    assert (found.run, found.rank, found.at) == (1, ranks[first], ranks[first].ended_at)
    assert found.words.lines == (f"of rank {first}",)


async def test_a_rank_that_was_ended_because_of_it_is_none() -> None:
    found = await failure_of(failed(ended(0, 137, 1), ended(1, 3, 5), of=(1,)))
    assert found is not None
    assert (found.rank.rank, found.rank.exit_code) == (1, 3)


@pytest.mark.parametrize(
    "runs",
    [
        (),
        (a_run(1),),
        (a_run(1, ended=Reason.PREEMPTED),),
        (failed(), a_run(2)),
        (failed(), a_run(2, ended=Reason.PREEMPTED)),
        (replace(failed(), reason=Reason.USER_STOPPED),),
        (a_run(1, ended=None),),
    ],
    ids=["no run", "succeeded", "suspended", "succeeded at last", "suspended since", "stopped", "runs"],
)
async def test_without_a_failure_there_is_none(runs: tuple[Run, ...]) -> None:
    assert await failure_of(*runs) is None


async def test_it_is_known_while_the_other_ranks_are_being_ended() -> None:
    up = Rank(rank=0, node="n0", state=RankState.RUNNING)
    found = await failure_of(failed(up, ended(1, 2, 3), of=(1,), live=True))
    assert found is not None
    assert found.rank.rank == 1


async def test_a_retry_that_runs_does_not_hide_it() -> None:
    found = await failure_of(failed(), a_run(2, ended=None))
    assert found is not None
    assert found.run == 1


@pytest.mark.parametrize("logs", [Kept(), Kept({("1.1", 1): line("x")}, broken=True)], ids=["none", "unreadable"])
async def test_without_its_log_the_rank_is_shown_alone(logs: Kept) -> None:
    found = await failure_of(failed(), logs=logs)
    assert found is not None
    assert (found.rank.rank, found.words.lines) == (1, ())


@pytest.mark.parametrize("piece", [1 << 20, 1000], ids=["at once", "in pieces"])
async def test_of_a_long_log_only_the_end_is_read(piece: int) -> None:
    text = b"".join(line(f"line {n}") for n in range(20_000))
    logs = Kept({("1.1", 1): text}, piece=piece)
    found = await failure_of(failed(), logs=logs)
    assert found is not None
    assert found.words.lines == tuple(f"line {n}" for n in range(19_980, 20_000))
    assert logs.read <= READ_BYTES


async def test_the_piece_of_a_line_at_the_beginning_is_left_out() -> None:
    logs = Kept({("1.1", 1): line("x" * READ_BYTES) + line("the end")})
    found = await failure_of(failed(), logs=logs)
    assert found is not None
    assert found.words.lines == ("the end",)
