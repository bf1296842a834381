"""References that keep the generations which tasks need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.ports.haienvs import Use
from hai_scheduler.service.shared.errors import Conflict
from hai_scheduler.service.tasks.submission import Submission
from unit.service.workspace.pinned_world import ANN, LATER, MINE, World


def uses(world: World) -> dict[str, Use]:
    return {key.partition(".")[2]: use for key, use in world.environments.uses.items()}


async def test_a_generation_is_held_from_the_submission_to_the_end_of_the_task(world: World) -> None:
    task = await world.send(environment="vision")
    expected = {f"task-{task}": Use(name="users/ann/vision", generation=3, what=f"task {task} of ann")}
    assert uses(world) == expected
    await world.step()
    await world.loop.references.compare()
    assert uses(world) == expected
    await world.platform.tasks.submissions.stop(ANN, str(task))
    await world.step(60)
    await world.loop.references.compare()
    assert uses(world) == {}


async def test_references_are_restored_and_those_of_others_are_left_alone(world: World) -> None:
    task = await world.send(environment="vision")
    world.environments.uses.clear()
    other = Use(name="users/ann/vision", generation=3, what="task 1 of another platform")
    await world.environments.hold("another.task-1", other)
    world.restart()
    await world.loop.references.compare()
    assert set(uses(world)) == {f"task-{task}", "task-1"}
    assert world.environments.uses["another.task-1"] == other


async def test_the_newest_is_held_while_it_runs(world: World) -> None:
    task = await world.send(environment="vision", env_latest=True)
    await world.step()
    await world.loop.references.compare()
    assert uses(world)[f"task-{task}"].generation == 3
    world.environments.publish(LATER)
    await world.suspend_and_resume(task)
    await world.loop.references.compare()
    assert uses(world)[f"task-{task}"].generation == 4


async def test_a_submission_that_is_refused_holds_nothing(world: World) -> None:
    submissions = world.platform.tasks.submissions
    first = Submission(name="t", command=("train",), cwd="/")
    await submissions.submit(ANN, first, key="k")
    with pytest.raises(Conflict, match="Idempotency-Key"):
        await submissions.submit(ANN, replace(first, environment="vision"), key="k")
    assert uses(world) == {}


async def test_what_a_killed_submission_has_left_goes_after_a_while(world: World) -> None:
    async with world.store.read() as tx:
        identity = (await tx.database.mark()).database
    await world.environments.hold(f"{identity}.submission-1", Use(name=MINE.name, generation=3, what="..."))
    await world.loop.references.compare()
    assert set(uses(world)) == {"submission-1"}
    await world.clock.advance(601)
    await world.loop.references.compare()
    assert uses(world) == {}


async def test_a_generation_that_is_removed_at_this_moment_is_no_task(world: World) -> None:
    hold = world.environments.hold

    async def too_late(key: str, use: Use) -> None:
        world.environments.remove(MINE)
        await hold(key, use)

    world.environments.hold = too_late  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="users/ann/vision@3 is gone"):
        await world.send(environment="vision")
    assert uses(world) == {}
