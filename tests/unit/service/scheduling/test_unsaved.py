"""A task that is interrupted again and again without a checkpoint: its user is told, and equals let it run (P8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.leaving import Left, Profile, Signal, SignalName, Source
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import message_of
from hai_scheduler.service.insight.decisions import sentence_of_event
from hai_scheduler.service.runs.rank_reports import RunReport
from hai_scheduler.service.shared.errors import Invalid
from kit.memory.behaviour import Behaviour
from unit.service.service_world import SHORT, Service, user

#: A job that never saves, and dies of the SIGTERM of its notice.
CARELESS = Behaviour(saves=False, says_done=False, leave_code=143)
TURNS = replace(SHORT, slice_growth=1, min_run_per_switch=0)


async def interrupted(service: Service, task: TaskId, times: int) -> None:
    """Let a task of higher priority take the only node `times` times, each time for a moment."""
    for number in range(times):
        urgent = await service.submit(f"urgent-{number}", "carol", priority=Priority.HIGH)
        await service.step()
        await service.step(5)
        await service.platform.tasks.submissions.stop(user("carol"), str(urgent))
        await service.step(5)
    assert (await service.task(task)).suspensions == times


async def test_p8_after_two_interruptions_without_a_checkpoint_its_user_is_told_once() -> None:
    service = await Service(nodes=1, policy=TURNS).open()
    task = await service.submit("careless", "ann", does=CARELESS)
    await service.step(5)
    await interrupted(service, task, 1)
    story = await service.platform.insight.queries.task(user("ann"), str(task))
    assert (story.hint, await service.events("task.alarm")) == (None, [])
    urgent = await service.submit("again", "carol", priority=Priority.HIGH)
    await service.step(5)
    story = await service.platform.insight.queries.task(user("ann"), str(task))
    assert story.runs[-1].left is Left.UNKNOWN
    assert story.hint is not None
    assert "interrupted 2 times in a row" in story.hint
    assert "--watch PATH" in story.hint
    (alarm,) = await service.events("task.alarm")
    assert (alarm.user, alarm.task_id, alarm.data["kind"]) == ("ann", task, "unsaved")
    assert story.hint in alarm.data["message"]
    assert service.loop.cycle.latest_plan.rotation_alarms == 0, "that is P7's"
    await service.platform.tasks.submissions.stop(user("carol"), str(urgent))
    await service.step(5)
    third = await service.submit("third", "carol", priority=Priority.HIGH)
    await service.step(5)
    assert (await service.task(task)).unsaved == 3
    assert len(await service.events("task.alarm")) == 1
    decisions = await service.platform.insight.decisions.of_task(user("ann"), str(task), after=0, limit=100)
    sentences = [sentence_of_event(ENGLISH, one) for one in decisions]
    said = [one for one in sentences if "has left its nodes" in one]
    assert len(said) == 3
    assert all("by itself, and nothing shows that it saved when it was told" in one for one in said)
    assert third


async def test_p8_it_then_leaves_for_no_equal_until_there_is_a_checkpoint() -> None:
    service = await Service(nodes=1, policy=TURNS).open()
    task = await service.submit("careless", "ann", does=CARELESS)
    await service.step(5)
    await interrupted(service, task, 2)
    assert (await service.task(task)).unsaved == 2
    waiting = await service.submit("waiting", "bob")
    await service.step(1000)
    assert await service.states(task, waiting) == ["running", "queued"]
    view = await service.platform.insight.queries.summary(user("bob"), str(waiting))
    assert view.verdict is not None
    assert view.verdict.kind is VerdictKind.CAPACITY
    assert f"Task {task} keeps its nodes until it saves" in message_of(ENGLISH, view.task, view.verdict, view.at)
    run = (await service.task(task)).run
    assert run is not None
    seen = RunReport(kind="saved", at=service.clock.now(), path="/w/out/last.ckpt", source=Source.SEEN)
    await service.platform.runs.reports.report(RunId(run.id), 0, seen)
    await service.step(1)
    assert (await service.task(task)).unsaved == 0
    assert await service.states(task, waiting) == ["suspended", "running"]


async def test_p8_can_be_switched_off_and_its_user_is_told_all_the_same() -> None:
    service = await Service(nodes=1, policy=replace(TURNS, max_unsaved=0)).open()
    task = await service.submit("careless", "ann", does=CARELESS)
    await service.step(5)
    await interrupted(service, task, 2)
    waiting = await service.submit("waiting", "bob")
    await service.step(100)
    assert await service.states(task, waiting) == ["suspended", "running"]
    (alarm,) = await service.events("task.alarm")
    assert "P8" not in alarm.data["message"]


async def test_p8_a_task_that_saves_raises_no_alarm() -> None:
    service = await Service(nodes=1, policy=TURNS).open()
    task = await service.submit("saves", "ann")
    await service.step(5)
    await interrupted(service, task, 3)
    assert (await service.task(task)).unsaved == 0
    assert await service.events("task.alarm") == []


# -- what may be asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"profile": Profile.KILL}, "the profile kill sends none"),
        ({"profile": Profile.COOPERATIVE}, "the profile cooperative sends none"),
        ({"before": 21}, "has 20 seconds to save"),
        ({"before": 31, "grace": timedelta(seconds=30)}, "has 30 seconds to save"),
    ],
)
async def test_a_signal_that_would_never_be_sent_in_time_is_refused(fields: dict[str, object], words: str) -> None:
    service = await Service().open()
    before = fields.pop("before", None)
    signal = Signal(name=SignalName.USR1, before=None if before is None else timedelta(seconds=float(str(before))))
    with pytest.raises(Invalid, match=words) as caught:
        await service.submit("one", "ann", signal=signal, **fields)
    assert caught.value.field == "signal"


async def test_what_a_task_asks_of_leaving_reaches_its_ranks() -> None:
    service = await Service(policy=replace(SHORT, patience=timedelta(seconds=50))).open()
    signal = Signal(name=SignalName.USR1, before=timedelta(seconds=10))
    task = await service.submit("one", "ann", signal=signal, watch=("out/last.pt",))
    await service.step()
    (run,) = service.cluster.record.runs.values()
    assert (run.launch.profile, run.launch.signal, run.launch.watch) == ("auto", signal, ("out/last.pt",))
    assert run.launch.patience == timedelta(seconds=20), "no longer than it has to save"
    assert task
