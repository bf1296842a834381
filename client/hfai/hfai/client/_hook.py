"""An exception in one trainer ends the whole rank: the original's `bind_hf_except_hook`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from typing import Any, Callable

from hai_client import job

#: How long the process that started the trainers has to end after SIGTERM, seconds.
PATIENCE_S = 5.0


def bind_hf_except_hook(process_class: Any) -> None:
    """Let an exception in a process of this class end the command of this rank, and so fail the task.

    Without it a script that starts `Process` objects and joins them would end with status 0 although a trainer has
    failed, or hang, because other trainers wait for the failed one. Outside of a task the exception is
    raised as usual. The original then tested the node's hardware too; here the platform does such tests.

    Args:
        process_class: A class with a method `run`, as `torch.multiprocessing.Process`.
    """
    run: Callable[..., Any] = process_class.run
    if getattr(run, "_hfai_hook", False):
        return

    def run_and_tell(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        except Exception:
            if job.inside:
                traceback.print_exc()
                sys.stderr.flush()
                _end_parent()
            raise

    run_and_tell._hfai_hook = True  # type: ignore[attr-defined]
    process_class.run = run_and_tell


def _end_parent() -> None:
    """End the process that has started this one, so that the rank's command fails."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is None or parent.pid is None:
        return
    _send(parent.pid, signal.SIGTERM)
    parent.join(PATIENCE_S)
    if parent.is_alive():
        _send(parent.pid, signal.SIGKILL)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
        os.kill(pid, number)
