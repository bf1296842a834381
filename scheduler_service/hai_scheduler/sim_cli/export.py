"""`hai sim export`: the platform's own tasks, as a trace."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from hai_client import constants
from hai_client.api import Client
from hai_client.cli.shared.context import Context
from hai_client.errors import Invalid
from hai_client.wire.schema import TaskSummary
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.sim.formats.native import lines_of
from hai_scheduler.sim.formats.trace import Traced
from hai_scheduler.sim_cli.running import require_place, write_lines

_ENDED = ("succeeded", "failed", "stopped")


def run(args: argparse.Namespace, context: Context) -> int:
    """Write the user's own tasks, or all tasks for an admin, without those that never ran. Returns the exit status."""
    require_place("--output", args.output)
    client = context.client
    everybody = client.me().admin
    found = list(client.tasks(user="*" if everybody else None, group=args.group))
    ran = [task for task in found if task.served_s > 0]
    chosen = _in_window(ran, args.begin, args.end)
    if not chosen:
        raise Invalid(
            f"none of {len(found)} tasks has run and was submitted between --from and --to; choose another window"
        )
    limits = _limits(client, chosen) if args.limits else {}
    jobs = list(_jobs(chosen, limits, keep_names=args.names))
    now = datetime.now(UTC)
    about = f"`hai sim export` at {now:%Y-%m-%d %H:%M} UTC: work is the time that tasks were running"
    write_lines(lines_of(jobs, about=about), args.output, context)
    unended = sum(task.state not in _ENDED for task in chosen)
    said = f"{len(jobs)} tasks written, {'of everybody' if everybody else 'all yours'}"
    if len(found) > len(ran):
        said += f"; {len(found) - len(ran)} that never ran are left out"
    if unended:
        said += f"; {unended} have not ended: their work is what they have done so far"
    context.out.note(said)
    return 0


def _in_window(
    tasks: Iterable[TaskSummary], begin: datetime | timedelta | None, end: datetime | timedelta | None
) -> list[TaskSummary]:
    """Return the tasks submitted in the window, by submission. An offset counts from the first of all tasks."""
    ordered = sorted(tasks, key=lambda task: (task.submitted_at, task.id))
    if not ordered:
        return []
    first = ordered[0].submitted_at
    since, until = (first + at if isinstance(at, timedelta) else at for at in (begin, end))
    return [
        task
        for task in ordered
        if (since is None or task.submitted_at >= since) and (until is None or task.submitted_at < until)
    ]


def _limits(client: Client, tasks: Iterable[TaskSummary]) -> dict[int, float | None]:
    return {task.id: client.task(task.id).time_limit_s for task in tasks}


def _jobs(tasks: Iterable[TaskSummary], limits: dict[int, float | None], *, keep_names: bool) -> Iterator[Traced]:
    """Yield the tasks as jobs. Unless names are kept, users are numbered in the order of their first submission."""
    numbers: dict[str, int] = {}
    for task in tasks:
        number = numbers.setdefault(task.user, len(numbers) + 1)
        limit = limits.get(task.id)
        yield Traced(
            line=0,
            submitted_at=task.submitted_at,
            work=timedelta(seconds=round(task.served_s, 3)),
            nodes=task.nodes,
            gpus=task.gpus,
            user=task.user if keep_names else f"user-{number}",
            priority=None if task.priority == constants.AUTO else Priority[task.priority],
            group=task.group,
            name=task.name if keep_names else "",
            time_limit=None if limit is None else timedelta(seconds=limit),
        )
