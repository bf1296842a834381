"""`squeue`, `sacct` and `sinfo` over the platform."""

from __future__ import annotations

import contextlib
import os
import pwd
import sys
from collections.abc import Iterable, Sequence

from hai_client.cli.shared.context import Context
from hai_client.constants import ENDED_STATES
from hai_client.errors import Forbidden, Invalid, NotFound
from hai_client.names import make_name
from hai_client.wire.schema import Task, TaskSummary
from hai_slurm.shared.queries import Query, fields, number_of, read_sacct, read_squeue
from hai_slurm.users.partitions import node_rows
from hai_slurm.users.rows import DETAILS, DETAILS_OF_ENDED, row_of
from hai_slurm.users.sinfo import read_sinfo

#: Number of the user's latest tasks that are looked at for those that have ended, without and with a time.
_LATEST, _MOST = 200, 2000


def squeue(argv: Sequence[str], ctx: Context) -> int:
    """Show tasks that have not ended: the user's own, or those that the options select."""
    query = read_squeue(argv)
    _print(query, _tasks(ctx, query, "squeue", live=not query.ended), ctx)
    return 0


def sacct(argv: Sequence[str], ctx: Context) -> int:
    """Show tasks in all states."""
    query = read_sacct(argv)
    if query.fields:
        _write(fields(), ctx)
        return 0
    _print(query, sorted(_tasks(ctx, query, "sacct", live=False), key=lambda task: task.id), ctx)
    return 0


def sinfo(argv: Sequence[str], ctx: Context) -> int:
    """Show the node groups and their nodes."""
    query = read_sinfo(argv)
    _write(query.lines(node_rows(ctx.client.nodes())), ctx)
    return 0


def _tasks(ctx: Context, query: Query, command: str, *, live: bool) -> Iterable[TaskSummary]:
    """Yield tasks among which those that are asked for are."""
    # As `sbatch` has made them of what it was given.
    query.names = [make_name(name) for name in query.names]
    query.users = [user_of(name, ctx) for name in query.users]
    if query.jobs:
        yield from _named(ctx, query, live=live)
        return
    users: list[str | None] = [*query.users] or [None]
    for user in users:
        try:
            yield from _of(ctx, query, user, live=live)
        except (Forbidden, Invalid) as error:  # noqa: PERF203 -- of each user by themselves
            if user is None:
                raise
            # As in Slurm, a user who is not known, or not to be seen, has no jobs.
            print(f"{command}: error: Invalid user {user}: {error.message}", file=sys.stderr)


def _named(ctx: Context, query: Query, *, live: bool) -> Iterable[TaskSummary]:
    for number in dict.fromkeys(map(number_of, query.jobs)):
        try:
            task = ctx.client.task(number)
        except NotFound:
            # Slurm does the same with a job that it has forgotten.
            continue
        if not live or task.state not in ENDED_STATES:
            yield task


def _of(ctx: Context, query: Query, user: str | None, *, live: bool) -> Iterable[TaskSummary]:
    limit = None if live or query.names else _MOST if query.since else _LATEST
    names: list[str | None] = [*query.names] or [None]
    for name in names:
        for task in ctx.client.tasks(user=user, name=name, state="live" if live else None, limit=limit):
            if _within(task, query):
                yield task


def _within(task: TaskSummary, query: Query) -> bool:
    """Return whether a task was there between the times that are asked for."""
    gone = query.since is not None and task.ended_at is not None and task.ended_at < query.since
    return not gone and (query.until is None or task.submitted_at <= query.until)


def _print(query: Query, tasks: Iterable[TaskSummary], ctx: Context) -> None:
    me = ctx.client.me().name if query.mine else ""
    _write(query.lines([row_of(_detailed(task, query, ctx)) for task in tasks], me), ctx)


def _detailed(task: TaskSummary, query: Query, ctx: Context) -> TaskSummary:
    """Return the task with its runs, if the table shows what only these tell."""
    wanted = DETAILS + (DETAILS_OF_ENDED if task.state in ENDED_STATES else ())
    return task if isinstance(task, Task) or not query.table.shows(*wanted) else ctx.client.task(task.id)


def _write(lines: Iterable[str], ctx: Context) -> None:
    for line in lines:
        # Written unchanged but for what a terminal obeys: programs that parse the output depend on every space.
        ctx.out.stdout.write("".join(letter for letter in line if letter.isprintable() or letter == "\t") + "\n")


def user_of(name: str, ctx: Context) -> str:
    """Return the platform's user for a name or number; this process's account is the caller's, whatever its name."""
    own = {str(os.getuid())}
    with contextlib.suppress(KeyError):
        own.add(pwd.getpwuid(os.getuid()).pw_name)
    return ctx.client.me().name if name in own else name
