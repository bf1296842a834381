"""Tells the processes of a job that they must leave: decides which of them get which signal, and when.

If the task has a signal (`--signal`, or a profile with one), the job's workers get that signal. A worker that catches
it gets it at once. Another worker gets it as soon as it is not writing a checkpoint; with `--signal`, not at all if the
job polls. Without a signal, profile `auto` looks at the job:

- If the job polls (`job.should_suspend`), even if it begins to poll now, the notice in its folder is enough.
- A worker that catches a signal (`hai_client.linux.catching`) gets that signal.
- Any other worker is left alone until a checkpoint has appeared since the notice and is complete, or the patience is
  over, and it is not writing one. Then it gets SIGTERM, and `term_wait_s` later SIGKILL. It waits for workers of the
  same rank that were told and are saving.

A worker that would die of the signal is stopped for a moment first, so that it cannot begin to write between the look
and the signal. Shells start nothing more after the notice: shells above a worker that is told are stopped (`shells`),
and what another shell starts is ended as soon as it is seen (`latecomers`).
"""

from __future__ import annotations

import os
import signal
import time

from hai_client.linux.catching import read_masks
from hai_client.linux.processes import children_of, descendants, read_table, send
from hai_client.rank.notices.latecomers import Latecomers
from hai_client.rank.notices.launchers import Launchers
from hai_client.rank.notices.moment import Moment
from hai_client.rank.notices.roster import Roster
from hai_client.rank.notices.shells import Shells
from hai_client.rank.notices.signals import SignalRule, is_as_asked
from hai_client.rank.notices.uncaught import Uncaught
from hai_client.rank.notices.workers import workers_of
from hai_client.rank.shared.times import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.linux.processes import Process
    from hai_client.rank.evidence.finding import Evidence
    from hai_client.rank.notices.workers import Workers
    from hai_client.rank.starting.spec import Spec

#: Time between two looks at the processes, seconds.
LOOK_EVERY_S = 0.1
#: The pause after a look is at least this many times as long as the look.
RESTS = 3


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
        self._rule = SignalRule(spec, account)
        self._shells = Shells(account, spec.term_wait_s)
        self._moment = Moment()
        self._launchers = Launchers(account, self._shells, evidence)
        self.roster = Roster(account)
        self._latecomers = Latecomers(self._rule, self.roster, self._shells, mark)
        self._uncaught = Uncaught(spec, self._rule, self.roster, evidence, self._launchers, self._moment, mark)
        self._main = 0
        self._deadline: float | None = None
        self._next = 0.0
        #: Whether a launcher such as torchrun has started the workers.
        self.under_agent = False

    @property
    def at_once(self) -> bool:
        """Whether the notice certainly comes with a signal, sent at once."""
        return self._rule.number is not None and not self._rule.patient and self._spec.signal_before_s is None

    def begin(self, main: int, notice: dict[str, Any], now: float) -> None:
        """Take a notice, or a newer one, and begin to tell the job (now: monotonic seconds)."""
        self._deadline = seconds_of(notice.get("deadline"))
        self._uncaught.for_good = notice.get("kind") == "stop"
        if self._main == 0:
            self._moment.choose(seconds_of(notice["signal_at"]) if notice.get("signal_at") else None)
            self._main = main
            self._evidence.noticed(descendants(read_table(), (os.getpid(),)))
            self.step(now)

    def heard_by_file(self) -> bool:
        """Return whether the job reads the notice by itself, and may leave because of it."""
        return self._rule.auto and self._main != 0 and self._rule.polls()

    def has_failed(self, exit_code: int | None, *, ended: bool) -> bool:
        """Return whether the command left by itself in another way than asked, so that a save of it may be a part.

        Args:
            exit_code: Its exit status.
            ended: Whether the rank was ended by force.
        """
        # The status of a launcher says little of its workers.
        return not (ended or self.under_agent or is_as_asked(exit_code, caught=self.roster.caught))

    def end_of_stage(self, pid: int) -> int | None:
        """Return the wait status (`os.wait`) of the command of a shell that was ended; None: not known."""
        return self._shells.end_of_stage(pid)

    def somebody_saves(self, now: float) -> bool:
        """Return whether a worker is still there that was told to leave, or that may be writing a checkpoint."""
        return self.roster.is_there(busy=self._evidence.going_on(now))

    def step(self, now: float) -> None:
        """Do what is due (now: monotonic seconds)."""
        if self._main == 0 or now < self._next:
            return
        self._step(now)
        # On a machine with many processes a look takes long.
        self._next = now + max(LOOK_EVERY_S, RESTS * (time.monotonic() - now))

    def _step(self, now: float) -> None:
        table = read_table()
        self._evidence.look(pid for pid in descendants(table, (os.getpid(),)) if not table[pid].zombie)
        if not self._is_due():
            return
        by_file = self.heard_by_file()
        if by_file:
            self._mark()
        table, found = self._look(table, everything=by_file)
        if not by_file:
            self._tell(table, found)
            self._end(table, found, now)
        self._shells.step(table, now)

    def _is_due(self) -> bool:
        """Return whether workers are to be told, and it is time to."""
        if not self._rule.tells:
            return False
        before = self._spec.signal_before_s
        return before is None or self._deadline is None or time.time() >= self._deadline - before

    def _look(self, table: dict[int, Process], *, everything: bool) -> tuple[dict[int, Process], Workers]:
        """Return the processes, and the workers among them; stop the shells above workers that are to be told."""
        while True:
            found = _find(table, self._main)
            self.under_agent = self.under_agent or bool(found.under_agent)
            if self._uncaught.began is None:
                self._uncaught.began = time.monotonic()
                self.roster.note(table, found.top)
            if self._rule.auto and not self.roster.ray_ended:
                # A worker may be new without a shell or an agent above it: it started after the notice. Where Ray was
                # ended, it is a process of Ray's own that lost its parent: it catches SIGTERM, and has nothing to save.
                self.roster.note(table, (p for p in found.top if self._is_ours(table, p, found)))
            self.roster.note_shells(table, found.shells)
            told = [pid for pid in found.top if everything or self._is_to_be_told(table, pid)]
            kept = self._keep_shells(table, found, told)
            if not kept:
                return table, found
            # A shell may have started something just before it was stopped.
            table = read_table()

    def _is_ours(self, table: Mapping[int, Process], pid: int, found: Workers) -> bool:
        """Return whether a process that came after the notice may go on: no agent and no shell has started it."""
        if pid in found.under_agent or found.above[pid]:
            return False
        # What a shell turned into is its next stage, unless processes that it had started may need it.
        return not self.roster.was_shell(table[pid]) or any(
            not table[child].zombie for child in children_of(table).get(pid, ())
        )

    def _keep_shells(self, table: Mapping[int, Process], found: Workers, workers: Iterable[int]) -> bool:
        """Let the shells above some workers start nothing more, but shells with a trap; return whether one is new."""
        above = {shell for worker in workers for shell in found.above.get(worker, ())}
        return self._shells.keep(table, {pid: found.shells[pid] for pid in above if not self._traps(pid)})

    def _is_to_be_told(self, table: Mapping[int, Process], pid: int) -> bool:
        """Return whether a worker gets a signal now, or got one; with profile auto other workers may go on."""
        worker = self.roster.workers.get(pid)
        if worker is None or worker.listens:
            return False
        return worker.told or not self._rule.patient or self._rule.is_caught(table, pid)

    def _traps(self, shell: int) -> bool:
        return shell in self.roster.trapping or self._rule.trap_of(shell) is not None

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
            if number == signal.SIGTERM:
                self.roster.terminated[pid] = table[pid].start

    def _trap_signals(self, table: Mapping[int, Process], found: Workers) -> list[tuple[int, int]]:
        told = []
        for pid in found.shells:
            if pid in self.roster.trapping:
                continue
            number = self._rule.trap_of(pid)
            if number is not None:
                self.roster.trapping[pid] = table[pid].start
                told.append((pid, number))
        return told

    def _caught_signals(self, table: Mapping[int, Process]) -> list[tuple[int, int]]:
        told: list[tuple[int, int]] = []
        for worker in self.roster.untold(table):
            signals = [(pid, self._rule.signal_for(pid)) for pid in self._rule.judged(table, worker.pid)]
            caught = [
                (pid, number) for pid, number in signals if number is not None and read_masks(pid).catches(number)
            ]
            if caught:
                self.roster.take_signal(worker)
                told += caught
        return told

    def _end(self, table: Mapping[int, Process], found: Workers, now: float) -> None:
        """End what no signal tells: workers that do not catch theirs, when that is due, and what came later."""
        waiting = self.roster.untold(table)
        if waiting and self._uncaught.may_end(table, now):
            self._keep_shells(table, found, (worker.pid for worker in waiting))
            self._uncaught.end(waiting, table, found, now)
        else:
            self._uncaught.end_agent(table, found, self._main, now)
        self._latecomers.end(table, found, now)
        self._uncaught.insist(table, now)
        if self.roster.is_idle(table):
            self._launchers.step(now)


def _find(table: Mapping[int, Process], main: int) -> Workers:
    # Orphans that changed their session are children of this process.
    me = os.getpid()
    return workers_of(table, [main, *(p.pid for p in table.values() if p.parent == me and p.pid != main)])
