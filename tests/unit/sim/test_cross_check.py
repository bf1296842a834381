"""The simulator and the service itself do the same: same starts, same nodes, same ends."""

from __future__ import annotations

import random
from datetime import timedelta

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import Run
from hai_scheduler.sim.scenario import Setting, SimulatedJob
from hai_scheduler.sim.simulate import simulate
from kit.builders import some_nodes
from kit.memory.behaviour import Behaviour
from unit.service.service_world import SHORT, Service
from unit.sim.jobs_kit import a_job, seconds

NODES = 4
TICK = 5
LEVELS = (Priority.LOW, Priority.NORMAL, Priority.NORMAL, Priority.NORMAL, Priority.HIGH, None)


def some_jobs(seed: int, count: int = 24) -> list[SimulatedJob]:
    """Gangs, parts of nodes and levels at random; all times are multiples of the tick."""
    chance = random.Random(seed)
    jobs = []
    for number in range(1, count + 1):
        gpus = chance.choice([None, None, 2, 4])
        jobs.append(
            a_job(
                number,
                TICK * chance.choice([2, 6, 20, 60]),
                submitted=TICK * number,
                nodes=1 if gpus else chance.choice([1, 1, 2, 3]),
                gpus=gpus,
                user=chance.choice(["ann", "bob", "cy"]),
                priority=chance.choice(LEVELS),
                limit=chance.choice([None, None, 400]),
                grace=SHORT.default_grace,
            )
        )
    return jobs


def summary(run: Run) -> tuple[object, ...]:
    return seconds(run.started_at), run.nodes, seconds(run.ended_at), run.reason


async def by_the_service(jobs: list[SimulatedJob]) -> dict[int, list[tuple[object, ...]]]:
    service = await Service(NODES).open()
    due = {seconds(job.task.submitted_at): job for job in jobs}
    for step in range(1, 1000):
        await service.clock.advance(TICK)
        if job := due.get(TICK * step):
            task, does = job.task, Behaviour(work=job.work, start_takes=timedelta(seconds=TICK))
            await service.submit(
                task.name,
                task.user,
                task.nodes,
                does,
                gpus=task.gpus,
                priority=task.priority,
                time_limit=task.time_limit,
            )
        await service.step(0, ticks=4)
        async with service.store.read() as tx:
            if step > len(jobs) and not await tx.tasks.unfinished():
                return {int(job.task.id): [summary(run) for run in await tx.runs.of_task(job.task.id)] for job in jobs}
    raise AssertionError("not everything has ended")


def by_the_simulator(jobs: list[SimulatedJob]) -> dict[int, list[tuple[object, ...]]]:
    setting = Setting(
        nodes=some_nodes(NODES),
        policies=SHORT,
        start_takes=timedelta(seconds=TICK),
        tick=timedelta(seconds=TICK),
        check=True,
    )
    found: dict[int, list[tuple[object, ...]]] = {int(job.task.id): [] for job in jobs}
    for run in simulate(setting, jobs).records.runs:
        found[int(run.task_id)].append((seconds(run.started_at), run.nodes, seconds(run.ended_at), run.reason))
    return found


async def test_the_simulator_does_what_the_service_does() -> None:
    turns = 0
    for seed in range(3):
        jobs = some_jobs(seed)
        simulated = by_the_simulator(jobs)
        assert simulated == await by_the_service(jobs), seed
        turns += sum(len(runs) for runs in simulated.values())
    assert turns > 3 * 24 + 15, "there is something to decide in these scenarios"
