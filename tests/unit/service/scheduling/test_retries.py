"""Tasks whose failed commands are started again: submission, history, what is shown (H2)."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import TaskState
from kit.builders import at
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user

FAILS = Behaviour(work=timedelta(seconds=5), exit_code=3)


async def ends_told(service: Service, task_id: TaskId) -> list[dict[str, object]]:
    """The data of the history's events for each end of a run."""
    events = await service.platform.insight.queries.events(user("ann"), str(task_id), after=0, limit=500)
    return [dict(event.data) for event in events if event.kind == "task.state" and "left" in event.data]


async def test_a_failed_command_is_started_again_after_its_back_off_until_its_retries_are_used() -> None:
    service = await Service().open()
    task = await service.submit("flaky", "ann", does=FAILS, retries=2, retry_backoff=timedelta(seconds=10))
    await service.step()
    await service.step(5)
    assert (await service.task(task)).not_before == at(15)
    await service.step(9)
    assert (await service.task(task)).state is TaskState.SUSPENDED, "it waits for its back-off"
    for seconds in (1, 5, 20, 5):
        await service.step(seconds)
    over = await service.task(task)
    assert over.run is not None
    assert (over.state, over.retries, over.run.number) == (TaskState.FAILED, 2, 3)


async def test_the_history_says_what_happens_after_a_failure() -> None:
    service = await Service().open()
    task = await service.submit("flaky", "ann", does=FAILS, retries=2, retry_backoff=timedelta(seconds=10))
    for seconds in (0, 5, 10, 5, 20, 5):
        await service.step(seconds)
    told = await ends_told(service, task)
    assert [line["message"] for line in told] == [
        "Its command failed (rank 0 with status 3); retry 1 of 2 waits until 08:00:15 UTC, in 10 s.",
        "Its command failed (rank 0 with status 3); retry 2 of 2 waits until 08:00:40 UTC, in 20 s.",
        "Its command failed (rank 0 with status 3); all 2 retries are used, so the task has failed.",
    ]
    assert [line["retry"] for line in told] == [1, 2, 2]
    assert told[0]["not_before"] == at(15).isoformat()


async def test_the_history_says_when_a_status_is_not_retried_and_when_there_is_no_back_off() -> None:
    service = await Service().open()
    other = await service.submit("other", "ann", does=FAILS, retries=1, retry_exit_codes=(75,))
    at_once = await service.submit("at-once", "ann", does=FAILS, retries=1)
    plain = await service.submit("plain", "ann", does=FAILS)
    for seconds in (0, 5):
        await service.step(seconds)
    (told,) = await ends_told(service, other)
    failed = "Its command failed (rank 0 with status 3)"
    assert told["message"] == f"{failed}; no status that is retried, so the task has failed."
    assert (await ends_told(service, at_once))[0]["message"] == (
        "Its command failed (rank 0 with status 3); retry 1 of 1 waits for its turn."
    )
    (told,) = await ends_told(service, plain)
    assert (told["message"], "retry" in told) == ("rank 0 with status 3", False)


async def test_a_back_off_that_doubles_beyond_all_measure_waits_a_day() -> None:
    service = await Service().open()
    task = await service.submit("many", "ann", does=FAILS, retries=100, retry_backoff=timedelta(days=3650))
    await service.step()
    await service.step(5)
    assert (await service.task(task)).not_before == at(5, hours=24)


async def test_a_rank_that_was_ended_with_the_others_decides_no_retry() -> None:
    service = await Service().open()
    does = Behaviour(work=timedelta(seconds=5), exit_code=3, failing_rank=1)
    task = await service.submit("gang", "ann", 2, does, retries=1, retry_exit_codes=(137, 143))
    await service.step()
    for _ in range(5):
        await service.step(10)
    over = await service.task(task)
    assert over.run is not None
    assert any(rank.exit_code != 3 for rank in over.run.ranks), "the other was ended"
    assert (over.state, over.run.failed_ranks) == (TaskState.FAILED, (1,))
    (told,) = await ends_told(service, task)
    failed = "Its command failed (rank 1 with status 3)"
    assert told["message"] == f"{failed}; no status that is retried, so the task has failed."
