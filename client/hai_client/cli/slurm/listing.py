"""`squeue` and `sacct` over the platform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hai_client.backports import UTC
from hai_client.cli.shared.context import Context
from hai_client.constants import ENDED_STATES
from hai_client.errors import NotFound
from hai_client.slurm.tables import SHORT, Query, elapsed, lines, read_sacct, read_squeue, wanted
from hai_client.wire.schema import Task, TaskSummary

#: Slurm's names for the states of a task. A suspended task waits for its next run, like a requeued job in Slurm.
_STATES = {
    "queued": "PENDING",
    "starting": "CONFIGURING",
    "running": "RUNNING",
    "suspending": "RUNNING",
    "suspended": "PENDING",
    "stopping": "COMPLETING",
    "succeeded": "COMPLETED",
    "failed": "FAILED",
    "stopped": "CANCELLED",
}
#: Number of the user's latest tasks that `sacct` shows without `-j`.
_LATEST = 200


def squeue(argv: Sequence[str], ctx: Context) -> int:
    """Show tasks that have not ended: the user's own, or those that the options select."""
    query = read_squeue(argv)
    found = _tasks(ctx, query, live=True)
    _print(query, [row_of(task) for task in found], ctx)
    return 0


def sacct(argv: Sequence[str], ctx: Context) -> int:
    """Show tasks in all states."""
    query = read_sacct(argv)
    codes = any(column == "EXITCODE" for _, column, *_ in query.columns)
    found = [
        # A list of tasks has no exit statuses of ranks.
        ctx.client.task(task.id) if codes and task.state == "failed" and not isinstance(task, Task) else task
        for task in _tasks(ctx, query, live=False)
    ]
    _print(query, [row_of(task) for task in found], ctx)
    return 0


def _tasks(ctx: Context, query: Query, *, live: bool) -> Iterable[TaskSummary]:
    if query.jobs:
        for job in query.jobs:
            number = job.partition(".")[0].partition("_")[0]
            try:
                task = ctx.client.task(number)
            except NotFound:
                # Slurm does the same with a job that it has forgotten.
                continue
            if not live or task.state not in ENDED_STATES:
                yield task
        return
    users: list[str | None] = [*query.users] or [None]
    for user in users:
        yield from ctx.client.tasks(user=user, state="live" if live else None, limit=None if live else _LATEST)


def _print(query: Query, rows: list[dict[str, str]], ctx: Context) -> None:
    users = {row["USER"] for row in rows}
    me = next(iter(users)) if len(users) == 1 or not query.mine else ctx.client.me().name
    for line in lines(query, wanted(query, rows, me)):
        # Written unchanged: programs that parse the output depend on every space.
        ctx.out.stdout.write("".join(letter for letter in line if letter.isprintable()) + "\n")


def row_of(task: TaskSummary) -> dict[str, str]:
    """Return the row of a task in the table."""
    state = _STATES.get(task.state, "PENDING")
    if task.state == "failed" and task.reason == "TIME_LIMIT":
        state = "TIMEOUT"
    nodes = ",".join(task.node_names)
    why = "JobHeldUser" if task.held else task.verdict.kind if task.verdict else "None"
    limit = task.time_limit_s if isinstance(task, Task) else None
    running = (datetime.now(UTC) - task.running_since).total_seconds() if _runs(task) and task.running_since else 0.0
    served = task.served_s + running
    return {
        "JOBID": str(task.id),
        "NAME": task.name,
        "USER": task.user,
        "ACCOUNT": task.user,
        "STATE": state,
        "ST": SHORT.get(state, state[:2]),
        "PARTITION": task.group,
        "NODES": str(task.nodes),
        "NODELIST": nodes,
        "NODELIST(REASON)": nodes or f"({why})",
        "REASON": why,
        "TIME": elapsed(served),
        "TIME_LIMIT": "UNLIMITED" if limit is None else elapsed(limit),
        "TIME_LEFT": "UNLIMITED" if limit is None else elapsed(max(0.0, limit - served)),
        "SUBMIT_TIME": _time(task.submitted_at),
        "START_TIME": _time(task.running_since),
        "END_TIME": _time(task.ended_at),
        "PRIORITY": task.effective_priority or task.priority,
        "QOS": task.priority,
        "EXITCODE": _exit_code(task),
        "WORK_DIR": task.cwd if isinstance(task, Task) else "",
        "RESTARTS": str(max(0, task.run_count - 1)),
    }


def _runs(task: TaskSummary) -> bool:
    return task.state in ("running", "suspending", "stopping")


def _time(when: datetime | None) -> str:
    return "Unknown" if when is None else when.astimezone().strftime("%Y-%m-%dT%H:%M:%S")


def _exit_code(task: TaskSummary) -> str:
    """Return the exit status and the signal of the first rank that failed."""
    code = status_of(task)
    return f"0:{code - 128}" if code > 128 else f"{code}:0"


def status_of(task: TaskSummary) -> int:
    """Return the exit status of the first rank that failed; 0 if none failed."""
    if task.state != "failed":
        return 0
    runs = task.runs if isinstance(task, Task) else ()
    failed = [rank for rank in runs[-1].ranks if rank.exit_code] if runs else []
    first = next((rank for rank in failed if rank.rank in runs[-1].failed_ranks), failed[0] if failed else None)
    return 1 if first is None or first.exit_code is None else first.exit_code
