"""Endpoints on tasks: submissions, lists, labels, many at once, why a task waits, and when it would start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from hai_scheduler.api.convert import tasks as convert
from hai_scheduler.api.convert.explain import decision_out, explain_out, forecast_out
from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.route import Ask, YamlText
from hai_scheduler.api.wire.events import EventOut, EventPage
from hai_scheduler.api.wire.explain import DecisionPage, ExplainOut, ForecastAsk, ForecastOut
from hai_scheduler.api.wire.params import Nothing, TaskEventQuery, TaskQuery
from hai_scheduler.api.wire.runs import RunList
from hai_scheduler.api.wire.tasks import (
    OrderChange,
    PriorityChange,
    TagsPut,
    TaskActionResult,
    TaskActionResults,
    TaskActions,
    TaskDetail,
    TaskPage,
)
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.ports.values import TaskFilter, TaskKey, TaskSort
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.tasks.admission import Admitted
from hai_scheduler.service.tasks.many import ActionResult, TaskAction
from hai_scheduler.service.tasks.submission import Submission

_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_LIVE = frozenset(state for state in TaskState if not state.ended)


async def submit(ask: Ask[Nothing, Submission]) -> TaskDetail:
    """Submit a task."""
    key = key_of(ask.headers)
    submission = ask.body
    if submission.take_snapshot and submission.snapshot is None:
        raise Invalid("take_snapshot", True, "asks for a snapshot of `cwd`: send one first, and set `snapshot`")
    admitted = await ask.platform.tasks.submissions.admit(ask.caller, submission, key=key)
    shown = await told_of(ask, admitted)
    warnings = await ask.platform.tasks.submissions.warnings(ask.caller, submission, admitted.choice)
    notes = await ask.platform.accounting.costs.notes(ask.caller)
    return shown.model_copy(update={"warnings": [*warnings, *notes]})


def key_of(headers: Mapping[str, str]) -> str | None:
    """Return the idempotency key of a request; None: it has none. Raises Invalid."""
    key = headers.get("Idempotency-Key")
    if key is not None and not _KEY.fullmatch(key):
        raise Invalid("Idempotency-Key", key, "must be 1 to 200 printable ASCII characters without spaces")
    return key


async def told_of(ask: Ask[Nothing, object], admitted: Admitted) -> TaskDetail:
    """Return a task that was submitted."""
    if admitted.spec is None:
        return await told(ask, admitted.task)
    return convert.detail(ask.platform.insight.queries.fresh(admitted.task, admitted.spec), ask.caller)


async def parse(ask: Ask[Nothing, YamlText]) -> Submission:
    """Return the body that submits an experiment file; nothing is submitted."""
    return await ask.platform.tasks.experiments.read(ask.caller, ask.body)


async def show_all(ask: Ask[TaskQuery, Nothing]) -> TaskPage | Encoded:
    """Return a page of tasks."""
    query = ask.query
    where = TaskFilter(
        user=query.user,
        states=_states(query.state),
        group=query.group,
        priority=query.priority,
        name=query.name,
        text=query.text or None,
        tag=query.tag,
        starred_by=ask.caller.name if query.starred else None,
    )
    page = await ask.platform.insight.task_lists.page(
        ask.caller,
        where,
        cursor=query.cursor,
        limit=query.limit,
        sort=TaskSort(key=TaskKey(query.sort), falling=query.order == "falling"),
        total=query.total,
        use=query.use,
    )
    notes = [] if query.cursor is not None else await ask.platform.accounting.costs.notes(ask.caller)

    def written() -> bytes:
        items = list(convert.summaries(page.items, ask.caller))
        answer = TaskPage(items=items, next_cursor=page.cursor, total=page.total, notes=notes)
        return answer.model_dump_json().encode()

    # Two hundred tasks: that takes some hundredths of a second.
    return Encoded(await in_reader(written), packs=False)


def _states(text: str | None) -> frozenset[TaskState] | None:
    if text is None:
        return None
    states: set[TaskState] = set()
    for word in text.split(","):
        if word == "live":
            states |= _LIVE
            continue
        try:
            states.add(TaskState(word))
        except ValueError:
            known = ", ".join(state.value for state in TaskState)
            raise Invalid("state", text, f"{word[:40]!r} is not a state: use live, {known}") from None
    return frozenset(states)


async def show(ask: Ask[Nothing, Nothing]) -> TaskDetail:
    """Return one task."""
    return await _told(ask, ask.path["task"])


async def stop(ask: Ask[Nothing, Nothing]) -> TaskDetail:
    """End a task for good."""
    return await told(ask, await ask.platform.tasks.submissions.stop(ask.caller, ask.path["task"]))


async def suspend(ask: Ask[Nothing, Nothing]) -> TaskDetail:
    """Take a task's nodes and hold it."""
    return await told(ask, await ask.platform.tasks.submissions.suspend(ask.caller, ask.path["task"]))


async def resume(ask: Ask[Nothing, Nothing]) -> TaskDetail:
    """Let a task have its turns again."""
    return await told(ask, await ask.platform.tasks.submissions.resume(ask.caller, ask.path["task"]))


async def hold(ask: Ask[Nothing, Nothing]) -> TaskDetail:
    """Hold a task: it is not started again until resume."""
    return await told(ask, await ask.platform.tasks.submissions.hold(ask.caller, ask.path["task"]))


async def set_priority(ask: Ask[Nothing, PriorityChange]) -> TaskDetail:
    """Change a task's priority."""
    task = await ask.platform.tasks.submissions.set_priority(ask.caller, ask.path["task"], ask.body.priority)
    return await told(ask, task)


async def reorder(ask: Ask[Nothing, OrderChange]) -> TaskDetail:
    """Move a task among the waiting tasks of its owner."""
    before, after = (None if other is None else TaskId(other) for other in (ask.body.before, ask.body.after))
    task = await ask.platform.tasks.submissions.reorder(ask.caller, ask.path["task"], before=before, after=after)
    return await told(ask, task)


async def runs(ask: Ask[Nothing, Nothing]) -> RunList:
    """Return a task's runs."""
    found = await ask.platform.insight.queries.runs(ask.caller, ask.path["task"])
    return RunList(items=[convert.run_out(run, ask.caller.say) for run in found])


async def events(ask: Ask[TaskEventQuery, Nothing]) -> EventPage:
    """Return a task's history."""
    found = await ask.platform.insight.queries.events(
        ask.caller, ask.path["task"], after=ask.query.after, limit=ask.query.limit
    )
    return EventPage(items=[EventOut.model_validate(event) for event in found])


async def told(ask: Ask[Nothing, object], task: Task) -> TaskDetail:
    """Return a task after a change, found by its id: its name may mean another task by now."""
    return await _told(ask, str(task.id))


async def _told(ask: Ask[Nothing, object], ref: str) -> TaskDetail:
    story = await ask.platform.insight.queries.task(ask.caller, ref)
    return convert.detail(story, ask.caller, await ask.platform.logs.failures.of(story.runs))


async def explain(ask: Ask[Nothing, Nothing]) -> ExplainOut:
    """Return why a task waits and what would let it start, or what it does."""
    found = await ask.platform.insight.explanations.explain(ask.caller, ask.path["task"])
    return explain_out(found, ask.caller, ask.platform.world.clock.now())


async def decisions(ask: Ask[TaskEventQuery, Nothing]) -> DecisionPage:
    """Return what was decided on a task."""
    found = await ask.platform.insight.decisions.of_task(
        ask.caller, ask.path["task"], after=ask.query.after, limit=ask.query.limit
    )
    return DecisionPage(items=[decision_out(ask.caller.say, event) for event in found])


async def forecast(ask: Ask[Nothing, ForecastAsk]) -> ForecastOut:
    """Return when a task would start."""
    body, forecasts = ask.body, ask.platform.insight.forecasts
    if (body.task is None) == (body.submit is None):
        raise Invalid("task", body.task, "give either `task`, an id or a name, or `submit`, a task not submitted yet")
    horizon = None if body.horizon_s is None else timedelta(seconds=body.horizon_s)
    if body.submit is not None:
        found = await forecasts.of_submission(ask.caller, body.submit, horizon=horizon)
    else:
        found = await forecasts.of_task(ask.caller, str(body.task), horizon=horizon)
    return forecast_out(found, ask.caller)


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
