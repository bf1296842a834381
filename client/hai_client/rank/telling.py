"""Tells the processes of a job that they must leave: decides which of them get which signal, and when.

If the task has a signal (`--signal`, or a profile with one), the job's workers get that signal. A worker that catches
it gets it at once. Another worker gets it as soon as it is not writing a checkpoint; with `--signal`, not at all if the
job polls. Without a signal, profile `auto` looks at the job:

- If the job polls (`job.should_suspend`), even if it begins to poll now, the notice in its folder is enough.
- A worker that catches a signal (`hai_client.rank.catching`) gets that signal.
- Any other worker is left alone until a checkpoint has appeared since the notice and is complete, or the patience is
  over, and it is not writing one. Then it gets SIGTERM, and `term_wait_s` later SIGKILL. It waits for workers of the
  same rank that were told and are saving.

A worker that would die of the signal is stopped for a moment first, so that it cannot begin to write between the look
and the signal. Shells start nothing more after the notice: shells above a worker that is told are stopped
(`hai_client.rank.shells`), and processes that other shells start are held before they begin (`hai_client.rank.stages`).
"""
# ruff: noqa: PTH110, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import signal
import time

from hai_client.rank.catching import best_signal, best_trap, read_masks
from hai_client.rank.identity import acting_as
from hai_client.rank.launchers import Launchers
from hai_client.rank.moment import Moment
from hai_client.rank.openfiles import standard_pipes
from hai_client.rank.processes import Process, children_of, descendants, read_process, read_table, send
from hai_client.rank.shells import Shells
from hai_client.rank.stages import Stages
from hai_client.rank.times import seconds_of
from hai_client.rank.workers import Workers, is_shell, runs_notebook, runs_ray, workers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from hai_client.rank.evidence import Evidence
    from hai_client.rank.identity import Account
    from hai_client.rank.spec import Spec

PROFILE_SIGNALS = {"sigterm": signal.SIGTERM, "slurm": signal.SIGUSR1}
#: Time between two looks at the processes, seconds.
LOOK_EVERY_S = 0.1
#: The pause after a look is at least this many times as long as the look.
RESTS = 3
#: How long processes have to stop, seconds; a process that takes longer waits for a disk, so it is writing.
STOP_S = 0.1
#: How long, and how often, to look for a moment without writes, seconds.
PAUSE_S = 0.1
PAUSE_LOOK_S = 0.002


class _Worker:
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
        process = table.get(self.pid)
        return process is not None and process.start == self.start and not process.zombie


class Telling:
    """Tells a job once that it must leave.

    Args:
        spec: The rank's spec.
        evidence: The evidence of the rank's checkpoints.
        mark: Called before the job is told in any way, as it may leave from then on.
        account: The Unix account of the task; None: the account of this process.
    """

    def __init__(self, spec: Spec, evidence: Evidence, mark: Callable[[], None], account: Account | None) -> None:
        self._spec = spec
        self._evidence = evidence
        self._mark = mark
        self._account = account
        #: The signal for all workers; None: no signal, or (auto) one for each worker.
        self._number: int | None = PROFILE_SIGNALS.get(spec.profile)
        if spec.signal is not None:
            self._number = getattr(signal, f"SIG{spec.signal}")
        self._auto = spec.profile == "auto" and self._number is None
        self._shells = Shells(account, spec.term_wait_s)
        self._moment = Moment()
        self._launchers = Launchers(account, self._shells, evidence)
        #: Whether the driver of a Ray was ended; Ray's other processes have nothing to save.
        self.ray_ended = False
        self._polling = os.path.join(spec.runtime, "polling")
        self._main = 0
        self._deadline: float | None = None
        #: Whether the task will not be resumed.
        self._for_good = False
        #: When the workers were first looked at, monotonic seconds.
        self._began: float | None = None
        self._next = 0.0
        self._workers: dict[int, _Worker] = {}
        #: Start times by pid: of processes that came later and were ended, and of shells that got a trapped signal.
        self._late: dict[int, int] = {}
        self._trapping: dict[int, int] = {}
        self.stages = Stages(self._shells, self._trapping, mark)
        #: Processes that are stopped for a moment.
        self._stopped: list[int] = []
        #: Whether all workers that got a signal caught it; None: none got one.
        self.caught: bool | None = None

    @property
    def at_once(self) -> bool:
        """Whether the notice certainly comes with a signal, sent at once."""
        return self._number is not None and self._spec.signal_before_s is None

    def begin(self, main: int, notice: dict[str, Any], now: float) -> None:
        """Take a notice, or a newer one, and begin to tell the job (now: monotonic seconds)."""
        self._deadline = seconds_of(notice.get("deadline"))
        self._for_good = notice.get("kind") == "stop"
        if self._main == 0:
            self._moment.choose(seconds_of(notice["signal_at"]) if notice.get("signal_at") else None)
            self._main = main
            self._evidence.noticed(descendants(read_table(), (os.getpid(),)))
            self.step(now)

    def heard_by_file(self) -> bool:
        """Return whether the job reads the notice by itself, and may leave because of it."""
        return self._auto and self._main != 0 and self._polls()

    def _polls(self) -> bool:
        with acting_as(self._account):
            return os.path.exists(self._polling)

    def end_of_stage(self, pid: int) -> int | None:
        """Return the wait status (`os.wait`) of the command of a shell that was ended; None: not known."""
        return self._shells.end_of_stage(pid)

    def somebody_saves(self, now: float) -> bool:
        """Return whether a worker is still there that was told to leave, or that may be writing a checkpoint."""
        busy = self._evidence.going_on(now)
        for worker in self._workers.values():
            if worker.told or (busy and not worker.listens):
                process = read_process(worker.pid)
                if process is not None and process.start == worker.start and not process.zombie:
                    return True
        return False

    def step(self, now: float) -> None:
        """Do what is due (now: monotonic seconds)."""
        if self.stages.answer():
            # Look at once: the end of the rank may wait for this shell.
            self._next = now
        if self._main == 0 or now < self._next:
            return
        self._step(now)
        # On a machine with many processes a look takes long.
        self._next = now + max(LOOK_EVERY_S, RESTS * (time.monotonic() - now))

    def _step(self, now: float) -> None:
        table = self.stages.table()
        self._evidence.look(pid for pid in descendants(table, (os.getpid(),)) if not table[pid].zombie)
        if not self._is_due():
            if self._number is not None:
                self._only_hold(table, now)
            return
        by_file = self.heard_by_file()
        if by_file:
            self._mark()
        table, found = self._look(table, everything=by_file)
        if by_file:
            self._shells.step(table, now)
            self.stages.hold(table, found, self._listens, now)
            return
        self._tell(table, found)
        self._end_others(table, found, now)
        self._end_late(table, found, now)
        self._insist(table, now)
        if self._is_idle(table):
            self._launchers.step(now)
        self._shells.step(table, now)
        self.stages.hold(table, found, self._listens, now)

    def _is_due(self) -> bool:
        """Return whether workers are to be told, and it is time to."""
        if self._number is None and not self._auto:
            return False
        before = self._spec.signal_before_s
        return before is None or self._deadline is None or time.time() >= self._deadline - before

    def _look(self, table: dict[int, Process], *, everything: bool) -> tuple[dict[int, Process], Workers]:
        """Return the processes, and the workers among them; stop the shells above workers that are to be told."""
        while True:
            found = self._find(table)
            if self._began is None:
                self._began = time.monotonic()
                self._note(table, found.top)
            if self._auto and not self.ray_ended:
                # A worker may be new without a shell or an agent above it: it started after the notice. Where Ray was
                # ended, it is a process of Ray's own that lost its parent: it catches SIGTERM, and has nothing to save.
                self._note(table, (p for p in found.top if self._is_ours(p, found)))
            told = [pid for pid in found.top if everything or self._is_to_be_told(table, pid)]
            kept = self._keep_shells(table, found, told)
            if not self.stages.watch(table, found, self._traps) and not kept:
                return table, found
            # A shell may have started something just before it was stopped, or watched.
            table = self.stages.table()

    def _only_hold(self, table: dict[int, Process], now: float) -> None:
        """Hold new processes before the signal is due, so that it does not come in the middle of a new stage."""
        found = self._find(table)
        while self.stages.watch(table, found, self._traps):
            table = self.stages.table()
            found = self._find(table)
        self.stages.hold(table, found, self._listens, now)

    def _listens(self, pid: int) -> bool:
        worker = self._workers.get(pid)
        return worker is not None and worker.listens

    def _keep_shells(self, table: Mapping[int, Process], found: Workers, workers: Iterable[int]) -> bool:
        """Let the shells above some workers start nothing more, but shells with a trap; return whether one is new."""
        above = {shell for worker in workers for shell in found.above.get(worker, ())}
        return self._shells.keep(table, {pid: found.shells[pid] for pid in above if not self._traps(pid)})

    def _find(self, table: Mapping[int, Process]) -> Workers:
        # Orphans that changed their session are children of this process.
        me = os.getpid()
        roots = [self._main, *(p.pid for p in table.values() if p.parent == me and p.pid != self._main)]
        return workers_of(table, roots)

    def _is_ours(self, pid: int, found: Workers) -> bool:
        """Return whether a process that came after the notice may go on: no agent and no shell has started it."""
        return pid not in found.under_agent and not found.above[pid]

    def _note(self, table: Mapping[int, Process], pids: Iterable[int]) -> None:
        new = [pid for pid in pids if pid not in self._workers and self._late.get(pid) != table[pid].start]
        if not new:
            return
        with acting_as(self._account):
            ends = {pid: standard_pipes(pid) for pid in [*new, *self._workers]}
        for pid in new:
            source = ends[pid][0]
            listens = source is not None and any(source in ends[other][1] for other in ends if other != pid)
            self._workers[pid] = _Worker(table[pid], listens=listens)

    def _signal_for(self, pid: int) -> int | None:
        if not self._auto:
            return self._number
        return best_signal(pid)

    def _is_to_be_told(self, table: Mapping[int, Process], pid: int) -> bool:
        """Return whether a worker gets a signal now, or got one; with profile auto other workers may go on."""
        worker = self._workers.get(pid)
        if worker is None or worker.listens:
            return False
        return worker.told or not self._auto or any(best_signal(one) is not None for one in self._judged(table, pid))

    def _judged(self, table: Mapping[int, Process], pid: int) -> list[int]:
        """Return the processes whose handlers count for a worker: a notebook's kernel, none for Ray's driver."""
        if not self._auto:
            return [pid]
        if runs_notebook(pid):
            return _children(table, pid)
        return [] if self._is_driver(table, pid) else [pid]

    def _is_driver(self, table: Mapping[int, Process], pid: int) -> bool:
        """Return whether profile auto must treat a worker as the driver of a Ray, which catches SIGTERM to end Ray."""
        return self._auto and best_signal(pid) is not None and runs_ray(_children(table, pid))

    def _traps(self, shell: int) -> bool:
        if shell in self._trapping:
            return True
        if self._auto:
            return best_trap(shell) is not None
        return self._number is not None and read_masks(shell).traps(self._number)

    def _tell(self, table: Mapping[int, Process], found: Workers) -> None:
        """Send signals to all that catch them: shells with traps, and workers."""
        told = [*self._trap_signals(table, found), *self._caught_signals(table)]
        if not told:
            return
        self._mark()
        # Wait only now: all slow looks are done.
        self._moment.wait()
        for pid, number in told:
            send(pid, number)

    def _trap_signals(self, table: Mapping[int, Process], found: Workers) -> list[tuple[int, int]]:
        told = []
        for pid in found.shells:
            number = best_trap(pid) if self._auto else self._number
            if number is not None and pid not in self._trapping and self._traps(pid):
                self._trapping[pid] = table[pid].start
                told.append((pid, number))
        return told

    def _caught_signals(self, table: Mapping[int, Process]) -> list[tuple[int, int]]:
        told: list[tuple[int, int]] = []
        for worker in self._untold(table):
            signals = [(pid, number) for pid in self._judged(table, worker.pid) for number in [self._signal_for(pid)]]
            caught = [(pid, n) for pid, n in signals if n is not None and read_masks(pid).catches(n)]
            if caught:
                worker.told = True
                self.caught = True if self.caught is None else self.caught
                told += caught
        return told

    def _untold(self, table: Mapping[int, Process]) -> list[_Worker]:
        return [one for one in self._workers.values() if not (one.told or one.listens) and one.is_in(table)]

    def _end_others(self, table: Mapping[int, Process], found: Workers, now: float) -> None:
        """End workers that do not catch their signal, when that is due."""
        waiting = self._untold(table)
        if waiting and self._may_end(table, now):
            self._keep_shells(table, found, (worker.pid for worker in waiting))
            self._end_idle(waiting, table, found, now)
        elif (
            self._auto and not self._workers and found.expected and self._is_over(now) and self._main not in self._late
        ):
            # The main process is an agent that still waits for the other agents of its gang.
            self._mark()
            self._late[self._main] = table[self._main].start if self._main in table else 0
            send(self._main, signal.SIGTERM)

    def _may_end(self, table: Mapping[int, Process], now: float) -> bool:
        """Return whether workers that do not catch their signal may be ended by it now."""
        if self._evidence.others_save(now):
            return False
        if not self._auto:
            # A job that polls needs no signal: do not end it by the one that its owner has chosen.
            return self._spec.signal is None or not self._polls()
        saving = any(
            worker.told and worker.ended_at is None and worker.is_in(table) for worker in self._workers.values()
        )
        return not saving and (self._evidence.settled(now) or self._is_over(now))

    def _is_over(self, now: float) -> bool:
        return self._began is not None and (self._for_good or now - self._began >= self._spec.patience_s)

    def _end_idle(self, workers: list[_Worker], table: Mapping[int, Process], found: Workers, now: float) -> None:
        """Send the signal to workers that do not catch it, unless one of them is writing a checkpoint."""
        number = signal.SIGTERM if self._number is None else self._number
        pids = [worker.pid for worker in workers]
        self._moment.wait()
        if not self._await_pause(pids, table):
            return
        group = self._stop(pids)
        try:
            if group is None or self._evidence.writing(group):
                return
            if self._auto and not self._is_over(now) and not self._evidence.unchanged():
                # The next save may have begun.
                return
            self._mark()
            for worker in workers:
                worker.told, worker.ended_at = True, now
                worker.leaves = read_masks(worker.pid).catches(number)
                self.caught = False
                judged = self._judged(table, worker.pid)
                self._launchers.note(table, found.launchers.get(worker.pid, ()), worker.pid)
                if self._is_driver(table, worker.pid):
                    self.ray_ended = worker.drives = True
                    self._launchers.note_driver(table, worker.pid)
                for pid in {worker.pid, *judged}:
                    send(pid, number)
        finally:
            for pid in self._stopped:
                send(pid, signal.SIGCONT)

    def _await_pause(self, pids: list[int], table: Mapping[int, Process]) -> bool:
        """Wait for a moment in which none of the processes writes a checkpoint; return whether there was one.

        A job that saves all the time pauses for milliseconds only.
        """
        group = [*pids, *descendants(table, pids)]
        ends = time.monotonic() + PAUSE_S
        while self._evidence.writing(group):
            if time.monotonic() >= ends:
                return False
            time.sleep(PAUSE_LOOK_S)
        return True

    def _stop(self, pids: list[int]) -> list[int] | None:
        """Stop processes and all below them; return them, or None if one of them does not stop."""
        self._stopped = list(pids)
        for pid in pids:
            # Before anything else: the pause that was found may be short.
            send(pid, signal.SIGSTOP)
        ends = time.monotonic() + STOP_S
        while True:
            table = read_table()
            group = [pid for pid in [*pids, *descendants(table, pids)] if pid in table and not table[pid].zombie]
            new = [pid for pid in group if pid not in self._stopped]
            for pid in new:
                send(pid, signal.SIGSTOP)
            self._stopped += new
            if not new and all(table[pid].stopped for pid in group):
                return group
            if time.monotonic() >= ends:
                return None
            time.sleep(0.001)

    def _end_late(self, table: Mapping[int, Process], found: Workers, now: float) -> None:
        """End processes that were started after the notice: an agent's new workers, and a shell's next command."""
        for pid in found.top:
            start = table[pid].start
            known = self._workers.get(pid)
            if (known is not None and known.start == start) or self._late.get(pid) == start or is_shell(pid):
                # A shell without children is about to start a command, or to end.
                continue
            if pid not in found.under_agent and self.stages.is_held(table[pid]):
                continue
            if pid in found.under_agent:
                self._late[pid] = start
                self._mark()
                send(pid, self._signal_for(pid) or signal.SIGTERM)
            elif found.above[pid] and self._is_next_stage(table, found, pid):
                self._late[pid] = start
                self._mark()
                for shell in found.above[pid]:
                    send(shell, signal.SIGSTOP)
                send(pid, signal.SIGTERM)
                for shell in reversed(found.above[pid]):
                    if self._shells.is_ended(shell) and not self.stages.watches(shell):
                        # The shell has trapped SIGTERM, and goes on.
                        send(shell, signal.SIGKILL)
                    else:
                        self._shells.end(shell, now)

    def _is_next_stage(self, table: Mapping[int, Process], found: Workers, pid: int) -> bool:
        """Return whether a process is the next command of a shell without a trap, after its last command has ended."""
        if any(shell in self._trapping or self._shells.is_cleaning_up(shell) for shell in found.above[pid]):
            return False
        before = [self._workers[other] for other in found.top if found.above[other] and other in self._workers]
        return not any(worker.is_in(table) and not worker.listens for worker in before)

    def _is_idle(self, table: Mapping[int, Process]) -> bool:
        """Return whether all workers were ended by a signal that they do not catch, and are gone but a Ray's driver."""
        return bool(self._workers) and all(
            worker.listens
            or (worker.ended_at is not None and (worker.drives or not (worker.leaves or worker.is_in(table))))
            for worker in self._workers.values()
        )

    def _insist(self, table: Mapping[int, Process], now: float) -> None:
        """Kill workers that are still there after a signal that they do not catch."""
        if not self._auto or self._evidence.going_on(now):
            return
        for worker in self._workers.values():
            due = worker.ended_at is not None and now - worker.ended_at >= self._spec.term_wait_s
            if due and not worker.leaves and worker.is_in(table):
                self._evidence.tear([worker.pid])
                send(worker.pid, signal.SIGKILL)


def _children(table: Mapping[int, Process], pid: int) -> list[int]:
    return [child for child in children_of(table).get(pid, ()) if not table[child].zombie]
