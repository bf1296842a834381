"""Services with limits of storage, and users who reach them."""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.submissions import Submissions
from unit.service.service_world import Service, user

KIB = 1024


MIB = 1024 * KIB


async def a_service(**limits: int) -> Service:
    service = Service()
    service.settings = replace(service.settings, **limits)
    service.restart()
    return await service.open()


def submissions(service: Service) -> Submissions:
    return service.platform.tasks.submissions


def large(size: int, **more: object) -> Submission:
    return Submission(name="big", command=("x",), cwd="/", env={"BIG": "x" * size}, hold=True, **more)


async def flood(service: Service, size: int, count: int, who: str = "mallory") -> None:
    """Submit `count` tasks of `size` bytes, and stop them."""
    for _ in range(count):
        task = await submissions(service).submit(user(who), large(size))
        await submissions(service).stop(user(who), str(task.id))


async def ended(service: Service, who: str = "mallory") -> int:
    async with service.store.read() as tx:
        return (await tx.storage.of_user(who)).ended_tasks
