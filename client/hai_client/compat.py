"""The in-job functions under the names of the original HAI, for code that was written for it.

There, rank 0 alone polled and spoke for the whole task; so does `go_suspend` here. Submit such tasks with the
`cooperative` profile: the other ranks then go on until rank 0 has saved.
"""

from __future__ import annotations

from typing import NoReturn

import hai_client.job as job


def receive_suspend_command() -> bool:
    """Whether the task must save and leave."""
    return job.should_suspend()


def go_suspend() -> NoReturn:
    """Say that the task has saved, for all its ranks, and leave the process."""
    job.suspended(all_ranks=True)


def set_whole_life_state(state: int) -> None:
    """Keep a number over all runs of the task."""
    job.set_state(str(int(state)))


def get_whole_life_state() -> int:
    """The number kept last; 0 if there is none."""
    try:
        return int(job.state or 0)
    except ValueError:
        return 0
