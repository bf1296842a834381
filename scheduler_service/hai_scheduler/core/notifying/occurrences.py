"""Which notifications follow from what has happened to a task, and from time alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.notifying.values import IDLE_AFTER, Notification, NotificationKind, NotificationRules
from hai_scheduler.core.workspace.builds import BuildVerb

#: How the names of builds begin. Users choose names: whether a task is a build is seen when it is routed.
_BUILDS: Final = tuple(
    f"{verb}-" for verb in (BuildVerb.CREATE, BuildVerb.INSTALL, BuildVerb.UNINSTALL, BuildVerb.REBUILD)
)
#: What users do themselves, with the task or in it.
_BY_USERS: Final = (Reason.USER_STOPPED, Reason.USER_SUSPENDED)


def of_change(before: Task, after: Task, rules: NotificationRules, *, actor: str, at: datetime) -> list[Notification]:
    """Return what the owner of a task is told after a change of it.

    Nobody is told of what they did themselves.

    Args:
        before: The task before the change.
        after: The task after it.
        rules: The rules of the task's owner.
        actor: Who has caused the change: a user, the loop, or a run.
        at: The time of the change.
    """
    told = _ends(before, after, actor) if after.state.ended else _goes_on(before, after, actor)
    return [
        Notification(
            user=after.user,
            kind=kind,
            at=at,
            key=f"{after.id}:{sentence}:{after.run.number if after.run else 0}",
            task_id=after.id,
            sentence=sentence,
            params={"task": after.id, "name": after.name, **more},
            channels=channels,
        )
        for kind, sentence, more in told
        if (channels := rules.of(kind) | _if_it_is_a_build(kind, after, rules))
    ]


def may_be_build(name: str) -> bool:
    """Return whether a task of that name may be a build of an environment."""
    return name.startswith(_BUILDS)


def routed(notification: Notification, environment: str | None, rules: NotificationRules) -> Notification:
    """Return a notification of the good end of a task that may be a build, with what it is and with its channels.

    Args:
        notification: As `of_change` has made it.
        environment: The environment that the task has built; None: it is no build.
        rules: The rules of its user.
    """
    if environment is None:
        return replace(notification, channels=notification.channels & rules.of(notification.kind))
    kind = NotificationKind.ENVIRONMENT_BUILT
    params = {**notification.params, "environment": environment}
    channels = notification.channels & rules.of(kind)
    return replace(notification, kind=kind, sentence="environment.built", params=params, channels=channels)


def _if_it_is_a_build(kind: NotificationKind, task: Task, rules: NotificationRules) -> frozenset[str]:
    if kind is NotificationKind.ENDED and task.state is TaskState.SUCCEEDED and may_be_build(task.name):
        return rules.of(NotificationKind.ENVIRONMENT_BUILT)
    return frozenset()


_Told = Iterator[tuple[NotificationKind, str, dict[str, Any]]]


def _ends(before: Task, after: Task, actor: str) -> _Told:
    if before.state.ended:
        return
    run, reason = after.run, after.reason
    facts = {"run": run.number if run else None, "reason": reason.value if reason else None}
    if after.state is TaskState.FAILED:
        codes = sorted(run.failure_codes) if run else []
        told = next((rank.message for rank in run.failures if rank.message), None) if run else None
        yield (
            NotificationKind.FAILED,
            "task.failed",
            {
                **facts,
                "exit_codes": codes,
                **({"message": told} if told else {}),
            },
        )
    elif after.state is TaskState.SUCCEEDED:
        yield NotificationKind.ENDED, "task.succeeded", facts
    elif reason not in _BY_USERS or (actor != after.user and not before.state.live):
        # An admin's order to a running task was told with the notice.
        yield NotificationKind.ENDED, "task.stopped", facts


def _goes_on(before: Task, after: Task, actor: str) -> _Told:
    run = after.run
    if run is None:
        return
    same = before.run is not None and before.run.id == run.id
    notice = run.notice
    if after.state is TaskState.RUNNING and before.state is not TaskState.RUNNING:
        kind, sentence = (
            (NotificationKind.STARTED, "task.started")
            if run.number == 1
            else (NotificationKind.RESUMED, "task.resumed")
        )
        yield kind, sentence, {"run": run.number, "nodes": len(run.ranks)}
    if notice is not None and run.live and not (same and before.run is not None and before.run.notice is not None):
        own = notice.reason is Reason.YIELDED or (notice.reason in _BY_USERS and actor == after.user)
        if not own:
            facts = {"run": run.number, "reason": notice.reason.value, "deadline": notice.deadline.isoformat()}
            sentence = "task.interrupted" if after.state is TaskState.SUSPENDING else "task.ending"
            yield NotificationKind.INTERRUPTED, sentence, facts
    if after.state.waiting and same and before.state.live and notice is None and _broke(run):
        reason = run.reason.value if run.reason else None
        yield NotificationKind.INTERRUPTED, "task.broke", {"run": run.number, "reason": reason}


def _broke(run: Run) -> bool:
    """Whether a turn ended that had begun: a start that is tried again is no interruption."""
    return not run.live and run.running_at is not None and run.reason is not Reason.YIELDED


def of_time(tasks: Iterable[Task], rules: Mapping[str, NotificationRules], now: datetime) -> Iterator[Notification]:
    """Return what owners are told because time has passed. The same is found again and again: the key is the same.

    Args:
        tasks: All unfinished tasks.
        rules: The rules of users who have chosen some; others have the default ones.
        now: The time.
    """
    for task in tasks:
        own = rules.get(task.user) or NotificationRules(user=task.user)
        if task.state.waiting:
            yield from _waits(task, own, now)
        elif task.state is TaskState.RUNNING:
            yield from _idles(task, own, now)


def _waits(task: Task, rules: NotificationRules, now: datetime) -> Iterator[Notification]:
    channels = rules.of(NotificationKind.WAITING)
    waited = now - task.waiting_since
    if not channels or task.held or waited < rules.waits_longer:
        return
    if task.not_before is not None and task.not_before > now:
        # Its owner has chosen how long it waits for a retry.
        return
    yield Notification(
        user=task.user,
        kind=NotificationKind.WAITING,
        at=now,
        key=f"{task.id}:task.waiting:{task.waiting_since.isoformat()}",
        task_id=task.id,
        sentence="task.waiting",
        params={"task": task.id, "name": task.name, "waited_s": waited.total_seconds()},
        channels=channels,
    )


def _idles(task: Task, rules: NotificationRules, now: datetime) -> Iterator[Notification]:
    channels = rules.of(NotificationKind.GPUS_IDLE)
    run = task.live_run
    since = None if run is None else run.idle_gpus_since
    if not channels or run is None or since is None:
        return
    # After a pause of the platform only the longer time is told.
    reached = max((limit for limit in IDLE_AFTER if now - since >= limit), default=None)
    if reached is None:
        return
    minutes = round(reached.total_seconds() / 60)
    ranks = [rank.rank for rank in run.ranks if rank.idle_gpus_since is not None]
    yield Notification(
        user=task.user,
        kind=NotificationKind.GPUS_IDLE,
        at=now,
        key=f"{run.id}:task.idle_gpus:{minutes}:{since.isoformat()}",
        task_id=task.id,
        sentence="task.idle_gpus",
        params={
            "task": task.id,
            "name": task.name,
            "run": run.number,
            "minutes": minutes,
            "since": since.isoformat(),
            "ranks": ranks[:20],
            "of_ranks": len(run.ranks),
        },
        channels=channels,
    )
