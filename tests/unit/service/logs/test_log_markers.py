"""The platform's own lines in a log."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Notice, Rank, RankState
from hai_scheduler.service.logs.log_markers import end_of, start_of
from unit.service.logs.runs_kit import T, a_run

NOTICE = Notice(reason=Reason.PREEMPTED, at=T, deadline=T, limit=T, beneficiary=TaskId(3))


PAUSED = (
    "-- run 2 suspended at 08:00:00 UTC: the platform was paused; it was ended before it had saved; 4 s of work lost --"
)

EVICTED = (
    "-- run 1 suspended at 08:00:00 UTC: the cluster needed a node of it for something else"
    " (rank 0 on n1: Evicted: The node was low on resource: memory.) --"
)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (
            a_run(1, ended=Reason.PREEMPTED, left=Left.SAVED, notice=NOTICE, checkpoint=Checkpoint(at=T)),
            "-- run 1 suspended at 08:00:00 UTC: a task of higher priority needed its nodes (task 3); saved --",
        ),
        (
            a_run(2, ended=Reason.PAUSED, left=Left.ENDED, lost=timedelta(seconds=9)),
            PAUSED,
        ),
        (
            a_run(1, ended=Reason.FAILED, checkpoint=Checkpoint(at=T, step=7, path="/w/out/model.pt")),
            (
                "-- run 1 failed at 08:00:00 UTC: its command failed;"
                " its latest checkpoint is of 08:00:00 UTC at step 7 (/w/out/model.pt) --"
            ),
        ),
        (
            replace(
                a_run(1, ended=Reason.PREEMPTED, left=Left.UNKNOWN, notice=NOTICE),
                ranks=(Rank(rank=0, node="n1", exit_code=143, caught=False, watched=False),),
            ),
            (
                "-- run 1 suspended at 08:00:00 UTC: a task of higher priority needed its nodes (task 3);"
                " it catches no signal and was ended by one, and nothing shows that it saved when it was told;"
                " how much work is lost is not known: name the folder of its checkpoints with --watch --"
            ),
        ),
        (
            replace(
                a_run(1, ended=Reason.PAUSED, left=Left.ENDED, lost=timedelta(seconds=4)),
                ranks=(Rank(rank=0, node="n1", state=RankState.EXITED, exit_code=1),),
            ),
            (
                "-- run 1 suspended at 08:00:00 UTC: the platform was paused;"
                " it ended by itself with status 1, and nothing shows that it saved; 4 s of work lost --"
            ),
        ),
        (a_run(1, ended=Reason.USER_STOPPED), "-- run 1 stopped at 08:00:00 UTC: it was stopped by hand --"),
        (a_run(1, ended=Reason.NODE_LOST), "-- run 1 ended at 08:00:00 UTC: a node of it was lost --"),
        (
            replace(
                a_run(1, ended=Reason.FAILED),
                ranks=(Rank(rank=0, node="n1", exit_code=143), Rank(rank=1, node="n2", exit_code=3)),
                failed_ranks=(1,),
            ),
            "-- run 1 failed at 08:00:00 UTC: its command failed (rank 1 on n2 exited with status 3) --",
        ),
        (
            replace(
                a_run(1, ended=Reason.FAILED),
                ranks=(Rank(rank=0, node="n1", exit_code=137, message="no memory"),),
                failed_ranks=(0,),
            ),
            "-- run 1 failed at 08:00:00 UTC: its command failed (rank 0 on n1 exited with status 137: no memory) --",
        ),
        (
            replace(
                a_run(1, ended=Reason.EVICTED),
                ranks=(Rank(rank=0, node="n1", message="Evicted: The node was low on resource: memory."),),
            ),
            EVICTED,
        ),
        (
            replace(a_run(1, ended=Reason.START_FAILED), ranks=(Rank(rank=0, node="n1", message="no space"),)),
            "-- run 1 ended at 08:00:00 UTC: it could not be started on its nodes (rank 0 on n1: no space) --",
        ),
    ],
)
def test_the_end_of_a_run_says_how_when_why_and_what_was_saved(run, said) -> None:
    assert end_of(run) == said


def test_the_end_of_a_run_never_says_that_it_saved_where_nothing_shows_it() -> None:
    run = a_run(1, ended=Reason.TURN_OVER, left=Left.UNKNOWN, notice=NOTICE, checkpoint=Checkpoint(at=T, step=7))
    assert end_of(run).endswith(
        "; it left by itself, and nothing shows that it saved when it was told;"
        " its latest checkpoint is of 08:00:00 UTC at step 7 --"
    )


def test_p8_the_second_interruption_in_a_row_without_a_checkpoint_says_so() -> None:
    told = {"ended": Reason.TURN_OVER, "left": Left.UNKNOWN}
    first, lost, second = a_run(1, **told), a_run(2, ended=Reason.NODE_LOST), a_run(3, **told)
    saved = a_run(4, **told, checkpoint=Checkpoint(at=T))
    runs = [first, lost, second, saved, a_run(5, **told)]
    said = [("in a row" in end_of(run, runs)) for run in runs]
    assert said == [False, False, True, False, False]
    assert "; 2 interruptions in a row without a checkpoint: `hai status 1` says what to do --" in end_of(second, runs)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_an_end(reason) -> None:
    assert end_of(a_run(1, ended=reason)).startswith("-- run 1 ")


def test_a_large_run_names_some_of_its_nodes() -> None:
    ranks = tuple(Rank(rank=n, node=f"n{n}") for n in range(9))
    assert start_of(replace(a_run(1), ranks=ranks)) == "-- run 1 started on n0, n1, n2, n3 and 5 more --"
