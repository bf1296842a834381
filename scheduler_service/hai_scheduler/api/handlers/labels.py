"""Endpoints on tags and stars of tasks, and on many tasks at once."""

from __future__ import annotations

from hai_scheduler.api.handlers.tasks import told
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.tasks import TagsPut, TaskActionResult, TaskActionResults, TaskActions, TaskDetail
from hai_scheduler.service.tasks.many import ActionResult, TaskAction


async def put_tags(ask: Ask[Nothing, TagsPut]) -> TaskDetail:
    """Give a task these tags."""
    task = await ask.platform.tasks.labels.put_tags(ask.caller, ask.path["task"], ask.body.tags)
    return await told(ask, task)


async def star(ask: Ask[Nothing, Nothing]) -> TaskDetail:
    """Star a task for the caller."""
    return await told(ask, await ask.platform.tasks.labels.put_star(ask.caller, ask.path["task"], starred=True))


async def unstar(ask: Ask[Nothing, Nothing]) -> TaskDetail:
    """Take the caller's star from a task."""
    return await told(ask, await ask.platform.tasks.labels.put_star(ask.caller, ask.path["task"], starred=False))


async def act(ask: Ask[Nothing, TaskActions]) -> TaskActionResults:
    """Do one action to many tasks."""
    results = await ask.platform.tasks.many.act(ask.caller, TaskAction(ask.body.action), ask.body.tasks)
    refused = sum(result.refusal is not None for result in results)
    return TaskActionResults(
        items=[_result(result) for result in results], done=len(results) - refused, refused=refused
    )


def _result(result: ActionResult) -> TaskActionResult:
    if result.task is not None:
        task = result.task
        return TaskActionResult(task=result.ref, task_id=task.id, state=task.state.value, held=task.held)
    assert result.refusal is not None, f"{result.ref} was neither done nor refused"
    return TaskActionResult(task=result.ref, code=result.refusal.code, detail=str(result.refusal))
