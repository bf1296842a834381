"""Remembers which processes of the job a notice is for, and what each of them was told.

A process is noted once, as a worker or as a latecomer, by its pid and its start time, and never becomes the other.
"""

from __future__ import annotations

from hai_client.linux.identity import acting_as
from hai_client.linux.openfiles import standard_pipes
from hai_client.linux.processes import read_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hai_client.linux.identity import Account
    from hai_client.linux.processes import Process


class NoticedWorker:
    """A worker that was there at the notice. Times are monotonic seconds."""

    __slots__ = ("drives", "ended_at", "leaves", "listens", "pid", "start", "told")

    def __init__(self, process: Process, *, listens: bool) -> None:
        self.pid = process.pid
        self.start = process.start
        #: Whether it only reads the output of another worker: it ends with that worker.
        self.listens = listens
        self.told = False
        #: When it got a signal that it does not catch.
        self.ended_at: float | None = None
        #: Whether it still leaves by itself after that: a notebook's runner writes the outputs first.
        self.leaves = False
        #: Whether it is the driver of a Ray that was ended.
        self.drives = False

    def is_in(self, table: Mapping[int, Process]) -> bool:
        """Return whether the worker is still there."""
        process = table.get(self.pid)
        return process is not None and self.is_process(process)

    def is_process(self, process: Process) -> bool:
        """Return whether a process with the worker's pid is the worker, and has not ended."""
        return process.start == self.start and not process.zombie


class Roster:
    """The workers of a rank, the latecomers, and the shells that were told by a signal that they trap.

    Args:
        account: The Unix account of the task; None: the account of this process.
    """

    def __init__(self, account: Account | None) -> None:
        self._account = account
        self.workers: dict[int, NoticedWorker] = {}
        #: Start times by pid: of processes that came later and were ended, and of shells that got a trapped signal.
        self.late: dict[int, int] = {}
        self.trapping: dict[int, int] = {}
        #: The same of shells that were seen above workers.
        self._shells: dict[int, int] = {}
        #: The same of processes that were told by SIGTERM, which they catch: they may still be saving because of that.
        self.terminated: dict[int, int] = {}
        #: Whether all workers that got a signal caught it; None: none got one.
        self.caught: bool | None = None

    @property
    def ray_ended(self) -> bool:
        """Whether the driver of a Ray was ended; Ray's other processes have nothing to save."""
        return any(worker.drives for worker in self.workers.values())

    def note(self, table: Mapping[int, Process], pids: Iterable[int]) -> None:
        """Note processes as workers, those that are not noted yet."""
        new = [pid for pid in pids if pid not in self.workers and self.late.get(pid) != table[pid].start]
        if not new:
            return
        with acting_as(self._account):
            ends = {pid: standard_pipes(pid) for pid in [*new, *self.workers]}
        for pid in new:
            source = ends[pid][0]
            listens = source is not None and any(source in ends[other][1] for other in ends if other != pid)
            self.workers[pid] = NoticedWorker(table[pid], listens=listens)

    def note_shells(self, table: Mapping[int, Process], pids: Iterable[int]) -> None:
        """Note processes as shells, whatever they become later."""
        self._shells.update((pid, table[pid].start) for pid in pids)

    def was_shell(self, process: Process) -> bool:
        """Return whether a process was a shell: it has become another program (`exec`, or the last of `bash -c`)."""
        return self._shells.get(process.pid) == process.start

    def is_noted(self, process: Process) -> bool:
        """Return whether a process is a worker or a latecomer that was noted before."""
        known = self.workers.get(process.pid)
        return (known is not None and known.start == process.start) or self.late.get(process.pid) == process.start

    def listens(self, pid: int) -> bool:
        """Return whether a process is a worker that only reads the output of another one."""
        worker = self.workers.get(pid)
        return worker is not None and worker.listens

    def untold(self, table: Mapping[int, Process]) -> list[NoticedWorker]:
        """Return the workers that are there and have got no signal yet."""
        return [one for one in self.workers.values() if not (one.told or one.listens) and one.is_in(table)]

    def still_told(self) -> list[int]:
        """Return the processes of `terminated` that are still there."""
        found = {pid: read_process(pid) for pid in self.terminated}
        return [pid for pid, one in found.items() if one is not None and one.start == self.terminated[pid]]

    def take_signal(self, worker: NoticedWorker, *, ended_at: float | None = None) -> None:
        """Note that a worker gets a signal.

        Args:
            worker: The worker.
            ended_at: When the signal ended it; None: it catches the signal.
        """
        worker.told = True
        if ended_at is None:
            self.caught = True if self.caught is None else self.caught
        else:
            worker.ended_at = ended_at
            self.caught = False

    def is_saving(self, table: Mapping[int, Process]) -> bool:
        """Return whether a worker is there that was told by a signal that it catches."""
        return any(one.told and one.ended_at is None and one.is_in(table) for one in self.workers.values())

    def is_there(self, *, busy: bool) -> bool:
        """Return whether a worker is there now that was told; if `busy`, any worker that does not only listen."""
        for worker in self.workers.values():
            if worker.told or (busy and not worker.listens):
                process = read_process(worker.pid)
                if process is not None and worker.is_process(process):
                    return True
        return False

    def is_idle(self, table: Mapping[int, Process]) -> bool:
        """Return whether all workers were ended by a signal that they do not catch, and are gone but a Ray's driver."""
        return bool(self.workers) and all(
            worker.listens
            or (worker.ended_at is not None and (worker.drives or not (worker.leaves or worker.is_in(table))))
            for worker in self.workers.values()
        )
