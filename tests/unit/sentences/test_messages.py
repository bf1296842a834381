"""What a task does, why it has ended, and why a run is told to leave."""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.core.explaining.silence import SignsOfLife
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import message_of, notice_of, silence_of
from hai_scheduler.sentences.words import because
from kit.builders import a_notice, a_run, a_task, at


def test_messages_say_what_a_task_does() -> None:
    up = a_task(state=TaskState.RUNNING, nodes=2)
    assert message_of(ENGLISH, up, None, at(65)) == "Running on node-1, node-2 since 08:00:00 UTC."
    told = replace(up, state=TaskState.SUSPENDING, run=a_run(nodes=2, notice=a_notice(Reason.PREEMPTED)))
    assert "1 min 50 s left to save" in message_of(ENGLISH, told, None, at(10))
    ranks = (Rank(rank=0, node="a", state=RankState.EXITED, exit_code=3),)
    failed = a_task(state=TaskState.FAILED, run=a_run(ranks=ranks, ended_at=at(5), failed_ranks=(0,)))
    assert message_of(ENGLISH, failed, None, at(9)) == "Failed: its command failed (rank 0 with status 3)."
    ranks = (replace(ranks[0], exit_code=137, message="out of memory"),)
    failed = replace(failed, run=a_run(ranks=ranks, ended_at=at(5), failed_ranks=(0,)))
    assert (
        message_of(ENGLISH, failed, None, at(9))
        == "Failed: its command failed (rank 0 with status 137: out of memory)."
    )


def test_a_task_that_does_not_come_up_says_what_its_ranks_wait_for_in_the_clusters_words() -> None:
    nowhere = "Unschedulable: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    ranks = (Rank(rank=0, node="a"), Rank(rank=1, node="b", message=nowhere))
    task = a_task(state=TaskState.STARTING, nodes=2, run=a_run(ranks=ranks, running_at=None))
    words = nowhere.removesuffix(".")
    assert message_of(ENGLISH, task, None, at(5)) == f"Starting on a, b: rank 1 on b waits: {words}."
    both = replace(task, run=a_run(ranks=(replace(ranks[0], message=nowhere), ranks[1]), running_at=None))
    assert message_of(ENGLISH, both, None, at(5)) == f"Starting on a, b: rank 0 on a (1 more wait too) waits: {words}."
    up = replace(ranks[1], state=RankState.RUNNING)
    one = replace(task, run=a_run(ranks=(ranks[0], up), running_at=None))
    assert message_of(ENGLISH, one, None, at(5)) == "Starting on a, b."


def test_the_ranks_that_failed_are_named_and_not_those_that_were_ended_for_it() -> None:
    ranks = tuple(
        Rank(rank=n, node=f"node-{n + 1}", state=RankState.EXITED, exit_code=1 if n < 6 else 137) for n in range(8)
    )
    over = a_task(state=TaskState.FAILED, run=a_run(ranks=ranks, ended_at=at(5), failed_ranks=(2,)))
    assert message_of(ENGLISH, over, None, at(9)) == "Failed: its command failed (rank 2 with status 1)."
    assert over.run is not None
    over = replace(over, run=replace(over.run, failed_ranks=(0, 1, 2, 3, 4, 5)))
    assert message_of(ENGLISH, over, None, at(9)).endswith("rank 3 with status 1 and 2 more).")


def test_a_notice_names_its_beneficiary() -> None:
    urgent = a_task(3, name="urgent", user="cy", priority=Priority.VERY_HIGH, nodes=2)
    text = notice_of(ENGLISH, a_notice(Reason.PREEMPTED, beneficiary=3), urgent)
    assert text.endswith("(task 3 of cy, VERY_HIGH, 2 nodes)")
    part = notice_of(ENGLISH, a_notice(Reason.PREEMPTED, beneficiary=3), replace(urgent, nodes=1, gpus=2))
    assert part.endswith("(task 3 of cy, VERY_HIGH, 2 GPUs on 1 node)")
    assert notice_of(ENGLISH, a_notice(Reason.DRAINED), None) == because(ENGLISH, Reason.DRAINED)


def test_a_silent_task_is_told_with_each_sign() -> None:
    seen = SignsOfLife(printed=at(minutes=20), saved=None, used=at(minutes=50), gpus=True)
    said = silence_of(ENGLISH, seen, TaskId(41))
    assert f"printed anything since {at(minutes=20):%Y-%m-%d %H:%M} UTC" in said
    assert "saved in this run" in said
    assert f"used its GPUs since {at(minutes=50):%Y-%m-%d %H:%M} UTC" in said
    assert "hai profile 41 --py" in said
