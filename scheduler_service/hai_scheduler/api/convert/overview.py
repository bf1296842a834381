"""Converts the cluster over the last day, and the queue, into models of the wire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from hai_scheduler.api.wire.cluster import GroupOverview, LevelCount
from hai_scheduler.api.wire.overview import (
    EndedCount,
    GroupQueueOut,
    HourOut,
    OverviewOut,
    QueueOut,
    QueueTask,
    ShortWaitOut,
    UseNowOut,
)
from hai_scheduler.core.explaining.short import ShortWait
from hai_scheduler.core.model.priority import choice_of
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.verdicts import short_text, short_words
from hai_scheduler.service.insight.overview import HourOfUse, Overview, UseNow
from hai_scheduler.service.insight.queries import GroupView
from hai_scheduler.service.insight.queue_lists import QueuedTask, QueuePage


def short_out(short: ShortWait, say: Language, now: datetime) -> ShortWaitOut:
    """Return the model of why a task waits, in a few words."""
    words = short_words(say, short)
    return ShortWaitOut(
        id=short.id,  # type: ignore[arg-type]  # the model lists the ids
        data=dict(short.data),
        until=short.until,
        words=words,
        text=short_text(say, short, words, now),
    )


def overview_out(overview: Overview, standstill: str | None) -> OverviewOut:
    """Return the model of the cluster over the last day; `standstill` is why nothing is decided, or None."""
    return OverviewOut(
        at=overview.at,
        change=overview.seq,
        paused=overview.cluster.paused,
        standstill=standstill,
        now=_now(overview.now),
        hours=[_hour(hour) for hour in overview.hours],
        levels=_levels(overview.cluster.groups),
        groups=[GroupOverview.model_validate(group) for group in overview.cluster.groups],
        submitted_3h=overview.submitted,
        ended_3h=EndedCount(
            succeeded=overview.ended.get(TaskState.SUCCEEDED, 0),
            failed=overview.ended.get(TaskState.FAILED, 0),
            stopped=overview.ended.get(TaskState.STOPPED, 0),
        ),
    )


def _now(now: UseNow) -> UseNowOut:
    levels = ("held", "starting", "useful", "idle", "leaving")
    return UseNowOut(
        nodes=now.nodes,
        **{name: round(getattr(now, name), 3) for name in levels},
        occupancy=_share(now.held, now.nodes),
        useful_share=_share(now.useful, now.nodes),
    )


def _hour(hour: HourOfUse) -> HourOut:
    sums, capacity = hour.sums, hour.capacity
    return HourOut(
        hour=hour.hour,
        until=hour.until,
        capacity_s=None if capacity is None else capacity.node_us / 1e6,
        down_s=None if capacity is None else capacity.down_us / 1e6,
        held_s=sums.node_us / 1e6,
        starting_s=sums.starting_us / 1e6,
        useful_s=sums.useful_us / 1e6,
        saving_s=sums.saving_us / 1e6,
        lost_s=sums.lost_us / 1e6,
        gpu_idle_s=sums.gpu_idle_us / 1e6,
        occupancy=None if capacity is None else _share(sums.node_us, capacity.node_us),
        useful_share=None if capacity is None else _share(sums.useful_us, capacity.node_us),
    )


def _share(part: float, whole: float) -> float | None:
    """Return a part of a whole; what was counted a moment later than the whole makes it no more than 1."""
    return round(min(1.0, part / whole), 4) if whole else None


def _levels(groups: Iterable[GroupView]) -> list[LevelCount]:
    found = [level for group in groups for level in group.levels]
    levels = []
    for priority in LEVELS:
        some = [level for level in found if level.priority is priority]
        if some:
            levels.append(
                LevelCount(
                    priority=priority,  # type: ignore[arg-type]  # the model reads a level by its name
                    running_tasks=sum(level.running_tasks for level in some),
                    running_nodes=sum(level.running_nodes for level in some),
                    waiting_tasks=sum(level.waiting_tasks for level in some),
                    waiting_nodes=sum(level.waiting_nodes for level in some),
                )
            )
    return levels


def queue_text(page: QueuePage, say: Language) -> bytes:
    """Return the queue as the JSON of `QueueOut`; a task is written once for its readers of a language."""
    text = QueueOut(
        at=page.at,
        groups=[
            GroupQueueOut(group=group.group, waiting=group.waiting, held=group.held, items=[], next=group.next)
            for group in page.groups
        ],
    ).model_dump_json()
    # In a text of JSON there is no quote without a backslash before it.
    first, *others = text.encode().split(b'"items":[]')
    items = (b'"items":[' + b",".join(_line(item, say) for item in group.items) + b"]" for group in page.groups)
    return first + b"".join(line for pair in zip(items, others, strict=True) for line in pair)


def _line(item: QueuedTask, say: Language) -> bytes:
    made = item.made.get(say.tag)
    if made is None:
        made = item.made[say.tag] = _queued(item, say).model_dump_json().encode()
    return made


def _queued(item: QueuedTask, say: Language) -> QueueTask:
    task = item.task
    return QueueTask.of(
        task,
        number=item.number,
        position=item.position,
        task_id=task.id,
        name=task.name if item.known else "",
        priority=item.level,
        asked=choice_of(task.priority) if item.known else None,
        short=short_out(item.short, say, item.at),
    )
