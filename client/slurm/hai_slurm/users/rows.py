"""A task as a row of Slurm's tables."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from hai_client.backports import UTC
from hai_client.constants import ENDED_STATES
from hai_client.wire.schema import Task, TaskSummary
from hai_slurm.shared.columns import SHORT
from hai_slurm.shared.tables import brief, elapsed

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
#: Values that a list of tasks does not have.
DETAILS = (
    "COMMAND", "WORK_DIR", "TIME_LIMIT", "TIME_LEFT", "TIMELIMIT", "TIMELIMIT_RAW", "END_TIME",
)  # fmt: skip
#: The same for tasks that have ended.
DETAILS_OF_ENDED = ("START", "START_TIME", "NODELIST", "NODELIST(REASON)", "EXEC_HOST", "EXITCODE", "EXIT_CODE")


def row_of(task: TaskSummary) -> dict[str, str]:
    """Return the row of a task."""
    state = _STATES.get(task.state, "PENDING")
    if task.state == "failed" and task.reason == "TIME_LIMIT":
        state = "TIMEOUT"
    ended = task.state in ENDED_STATES
    run = task.runs[-1] if isinstance(task, Task) and task.runs and ended else None
    nodes = ",".join(run.nodes if run else task.node_names)
    why = "JobHeldUser" if task.held else task.verdict.kind if task.verdict else "None"
    began = task.running_since or (run and (run.running_at or run.started_at)) or None
    now = datetime.now(UTC)
    running = (now - task.running_since).total_seconds() if _runs(task) and task.running_since else 0.0
    served = task.served_s + running
    code = status_of(task)
    soon = task.verdict.earliest_start if task.verdict else None
    return {
        "JOBID": str(task.id),
        "ARRAY_JOB_ID": str(task.id),
        "ARRAY_TASK_ID": "N/A",
        "NAME": task.name,
        "USER": task.user,
        "ACCOUNT": task.user,
        "STATE": state,
        "ST": SHORT[state],
        "PARTITION": task.group,
        "NODES": str(task.nodes),
        "NODELIST": nodes,
        "NODELIST(REASON)": nodes or f"({why})",
        "EXEC_HOST": nodes.partition(",")[0] or "n/a",
        "TRES_PER_NODE": "N/A" if task.gpus is None else f"gres:gpu:{task.gpus}",
        "REASON": why,
        "COMMENT": ",".join(task.tags),
        "TIME": brief(served),
        "ELAPSED": elapsed(served),
        "ELAPSED_RAW": str(int(served)),
        "SUBMIT_TIME": _time(task.submitted_at),
        "START": _time(began),
        "START_TIME": _time(began or soon, "N/A"),
        "END": _time(task.ended_at),
        "PRIORITY": task.effective_priority or task.priority,
        "QOS": task.priority,
        "EXITCODE": f"0:{code - 128}" if code > 128 else f"{code}:0",
        "EXIT_CODE": str(code),
        "RESTART_COUNT": str(max(0, task.run_count - 1)),
        **_of_limit(task, served, now),
        **({"WORK_DIR": task.cwd, "COMMAND": _command(task)} if isinstance(task, Task) else {}),
    }


def _of_limit(task: TaskSummary, served: float, now: datetime) -> dict[str, str]:
    limit = task.time_limit_s if isinstance(task, Task) else None
    left = None if limit is None else max(0.0, limit - served)
    ends = task.ended_at or (now + timedelta(seconds=left) if left is not None and _runs(task) else None)
    return {
        "TIME_LIMIT": "UNLIMITED" if limit is None else brief(limit),
        "TIMELIMIT": "UNLIMITED" if limit is None else elapsed(limit),
        "TIMELIMIT_RAW": "UNLIMITED" if limit is None else str(int(limit // 60)),
        "TIME_LEFT": "UNLIMITED" if left is None else brief(left),
        "END_TIME": _time(ends, "N/A"),
    }


def _runs(task: TaskSummary) -> bool:
    return task.state in ("running", "suspending", "stopping")


def _command(task: Task) -> str:
    """Return the file of a batch script, or the program of another command."""
    named = next((word.partition("=")[2] for word in task.command if word.startswith("--script=")), "")
    return named or ("(null)" if task.command[0].endswith("hai-batch") else task.command[0])


def _time(when: datetime | None, unknown: str = "Unknown") -> str:
    form = os.environ.get("SLURM_TIME_FORMAT", "")
    # Slurm's words for its own form and for a shorter one; else it is a form of strftime, such as %s.
    form = "%Y-%m-%dT%H:%M:%S" if form in ("", "standard", "relative") else form
    return unknown if when is None else when.astimezone().strftime(form)


def status_of(task: TaskSummary) -> int:
    """Return the exit status of the first rank that failed; 0 if none failed."""
    if task.state != "failed":
        return 0
    runs = task.runs if isinstance(task, Task) else ()
    failed = [rank for rank in runs[-1].ranks if rank.exit_code] if runs else []
    first = next((rank for rank in failed if rank.rank in runs[-1].failed_ranks), failed[0] if failed else None)
    return 1 if first is None or first.exit_code is None else first.exit_code
