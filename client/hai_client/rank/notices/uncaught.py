"""Ends workers that do not catch their signal, when that is due and tears no checkpoint."""

from __future__ import annotations

import signal

from hai_client.linux.catching import read_masks
from hai_client.linux.processes import send
from hai_client.rank.notices.standstill import Standstill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hai_client.linux.processes import Process
    from hai_client.rank.evidence.finding import Evidence
    from hai_client.rank.notices.launchers import Launchers
    from hai_client.rank.notices.moment import Moment
    from hai_client.rank.notices.roster import NoticedWorker, Roster
    from hai_client.rank.notices.signals import SignalRule
    from hai_client.rank.notices.workers import Workers
    from hai_client.rank.starting.spec import Spec

#: How long after its patience a job that saves nearly all the time may go on, until a moment without a save is found;
#: then it may end the save that is going on, and no other; seconds.
PAUSE_WITHIN_S = 30.0
#: A time that never comes, monotonic seconds.
NEVER = float("inf")


class Uncaught:
    """The workers whose signal ends them. None gets it while a process of its rank writes a checkpoint.

    Args:
        spec: The rank's spec.
        rule: Which signal a process gets.
        roster: The workers.
        evidence: The evidence of the rank's checkpoints.
        launchers: The launchers above the workers.
        moment: The moment of the gang's signals.
        mark: Called before a worker is ended.
    """

    def __init__(
        self,
        spec: Spec,
        rule: SignalRule,
        roster: Roster,
        evidence: Evidence,
        launchers: Launchers,
        moment: Moment,
        mark: Callable[[], None],
    ) -> None:
        self._spec = spec
        self._rule = rule
        self._roster = roster
        self._evidence = evidence
        self._launchers = launchers
        self._moment = moment
        self._mark = mark
        self._standstill = Standstill(evidence)
        #: When the workers were first looked at, monotonic seconds.
        self.began: float | None = None
        #: Whether the task will not be resumed.
        self.for_good = False

    def may_end(self, table: Mapping[int, Process], now: float) -> bool:
        """Return whether workers that do not catch their signal may be ended by it now."""
        if self._evidence.others_save(now) and not self._is_at_its_bound(now):
            return False
        if not self._rule.patient:
            # A job that polls needs no signal: do not end it by the one that its owner has chosen.
            return self._spec.signal is None or not self._rule.polls()
        return not self._roster.is_saving(table) and (self._evidence.settled(now) or self._is_over(now))

    def _is_over(self, now: float) -> bool:
        """Return whether the patience with workers that no signal tells is over."""
        return now >= self._over_at()

    def _over_at(self) -> float:
        """Return when the patience is over, monotonic seconds; infinity: it has not begun."""
        if self.began is None:
            return NEVER
        return self.began + (0.0 if self.for_good else self._spec.patience_s)

    def _is_at_its_bound(self, now: float) -> bool:
        """Return whether a job that saves all the time has gone on for long enough."""
        return now >= self._over_at() + PAUSE_WITHIN_S

    def end_agent(self, table: Mapping[int, Process], found: Workers, main: int, now: float) -> None:
        """End the main process if it is an agent that still waits for the other agents of its gang."""
        roster = self._roster
        if self._rule.auto and not roster.workers and found.expected and self._is_over(now) and main not in roster.late:
            self._mark()
            roster.late[main] = table[main].start if main in table else 0
            send(main, signal.SIGTERM)

    def end(self, workers: list[NoticedWorker], table: Mapping[int, Process], found: Workers, now: float) -> None:
        """Send the signal to workers that do not catch it, unless one of them is writing a checkpoint.

        A job that saves all the time may end the save that goes on at `PAUSE_WITHIN_S`, and no other.
        """
        pids = [worker.pid for worker in workers]
        begun = self._over_at() + PAUSE_WITHIN_S if self._is_at_its_bound(now) else NEVER
        self._moment.wait()
        if not self._standstill.await_pause(pids, table, begun):
            return
        group = self._standstill.stop(pids)
        try:
            if group is None or self._evidence.writing(group, begun):
                return
            if self._rule.patient and not self._is_over(now) and not self._evidence.unchanged():
                # The next save may have begun.
                return
            self._mark()
            if begun != NEVER and self._evidence.writing(group):
                self._evidence.tear(group)
            for worker in workers:
                self._end_one(worker, table, found, now)
        finally:
            self._standstill.release()

    def _end_one(self, worker: NoticedWorker, table: Mapping[int, Process], found: Workers, now: float) -> None:
        number = signal.SIGTERM if self._rule.number is None else self._rule.number
        self._roster.take_signal(worker, ended_at=now)
        worker.leaves = read_masks(worker.pid).catches(number)
        judged = self._rule.judged(table, worker.pid)
        self._launchers.note(table, found.launchers.get(worker.pid, ()), worker.pid)
        if self._rule.is_driver(table, worker.pid):
            worker.drives = True
            self._launchers.note_driver(table, worker.pid)
        for pid in {worker.pid, *judged}:
            send(pid, number)

    def insist(self, table: Mapping[int, Process], now: float) -> None:
        """Kill workers that are still there after a signal that they do not catch."""
        if not self._rule.patient or self._evidence.going_on(now):
            return
        for worker in self._roster.workers.values():
            due = worker.ended_at is not None and now - worker.ended_at >= self._spec.term_wait_s
            if due and not worker.leaves and worker.is_in(table):
                self._evidence.tear([worker.pid])
                send(worker.pid, signal.SIGKILL)
