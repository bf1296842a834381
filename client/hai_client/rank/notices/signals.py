"""Says which signal tells a process of the job that it must leave: the task's own, or the one that it catches.

What is said here follows from the rank's spec and from what the kernel says now: nothing is remembered, and nothing is
sent.
"""
# ruff: noqa: PTH110, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import signal

from hai_client.linux.catching import best_signal, best_trap, read_masks
from hai_client.linux.identity import acting_as
from hai_client.linux.processes import children_of, descendants
from hai_client.rank.notices.workers import only_goes, runs_notebook, runs_ray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hai_client.linux.identity import Account
    from hai_client.linux.processes import Process
    from hai_client.rank.starting.spec import Spec

PROFILE_SIGNALS = {"sigterm": signal.SIGTERM, "slurm": signal.SIGUSR1}

#: The signals that a notice may come with, and exit statuses of commands that leave as they were asked to.
SENT = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
LEFT_AS_ASKED = frozenset({0, 75, *(128 + number for number in SENT)})


def is_as_asked(exit_code: int | None, *, caught: bool | None) -> bool:
    """Return whether a command with this status may have left as it was asked to; else it failed by itself.

    Args:
        exit_code: Its exit status.
        caught: Whether it caught the signal that it was sent: then it may end with the number of that signal.
    """
    return exit_code in LEFT_AS_ASKED or (caught is True and exit_code in SENT)


class SignalRule:
    """Which process of a rank gets which signal.

    Args:
        spec: The rank's spec.
        account: The Unix account of the task; None: the account of this process.
    """

    def __init__(self, spec: Spec, account: Account | None) -> None:
        self._account = account
        self._polling = os.path.join(spec.runtime, "polling")
        #: The signal for all workers; None: no signal, or (auto) one for each worker.
        self.number: int | None = PROFILE_SIGNALS.get(spec.profile)
        if spec.signal is not None:
            self.number = getattr(signal, f"SIG{spec.signal}")
        self.auto = spec.profile == "auto" and self.number is None
        #: Whether a worker that does not catch its signal may go on for a while, so that a checkpoint may appear. Under
        #: Slurm's profile it may be before its handler is there, or after.
        self.patient = self.auto or (spec.profile == "slurm" and spec.signal is None)

    @property
    def tells(self) -> bool:
        """Whether workers get any signal before the end of the run."""
        return self.auto or self.number is not None

    def polls(self) -> bool:
        """Return whether the job reads the notice by itself (`job.should_suspend`)."""
        with acting_as(self._account):
            return os.path.exists(self._polling)

    def signal_for(self, pid: int) -> int | None:
        """Return the signal for a worker; None: it catches none (auto), or the profile sends none."""
        return best_signal(pid) if self.auto else self.number

    def trap_of(self, shell: int) -> int | None:
        """Return the signal that a shell traps and would get; None: it has no such trap."""
        if self.auto:
            return best_trap(shell)
        return self.number if self.number is not None and read_masks(shell).traps(self.number) else None

    def is_caught(self, table: Mapping[int, Process], pid: int) -> bool:
        """Return whether a worker catches the signal that it would get."""
        signals = [(one, self.signal_for(one)) for one in self.judged(table, pid)]
        return any(number is not None and read_masks(one).catches(number) for one, number in signals)

    def judged(self, table: Mapping[int, Process], pid: int) -> list[int]:
        """Return the processes whose handlers count for a worker: a notebook's kernel; none for one that only goes."""
        if not self.auto:
            return [pid]
        if runs_notebook(pid):
            return _children(table, pid)
        if only_goes(pid):
            # What it has started may catch the signal that it passes on.
            below = (one for one in descendants(table, [pid]) if not table[one].zombie)
            return [pid] if any(best_signal(one) is not None for one in below) else []
        return [] if self.is_driver(table, pid) else [pid]

    def is_driver(self, table: Mapping[int, Process], pid: int) -> bool:
        """Return whether profile auto must treat a worker as the driver of a Ray, which catches SIGTERM to end Ray."""
        return self.auto and best_signal(pid) is not None and runs_ray(_children(table, pid))


def _children(table: Mapping[int, Process], pid: int) -> list[int]:
    return [child for child in children_of(table).get(pid, ()) if not table[child].zombie]
