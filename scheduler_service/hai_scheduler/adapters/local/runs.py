"""Runs and ranks on this machine, as the service sees them."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hai_scheduler.adapters.local.folders import FolderFacts, RankFolder, RunFolder, exit_code_of
from hai_scheduler.adapters.local.leftovers import kill_leftovers
from hai_scheduler.adapters.local.rights import with_rights
from hai_scheduler.adapters.local.starting import StartedKeeper, Starter
from hai_scheduler.adapters.shared.log_parts import read_log
from hai_scheduler.adapters.shared.status import (
    caught_of,
    checkpoint_of,
    ending_of,
    signal_of,
    signalled_of,
    summary_of,
    text_of,
    time_of,
)
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.ports.logs import LogChunk

log = logging.getLogger(__name__)

#: How often a supervisor is started that ends before it has written anything.
MAX_STARTS = 3
#: The exit status of a rank that was ended before it started.
NEVER_STARTED = 128 + signal.SIGTERM
#: How long one observation may spend on killing what a dead supervisor has left, in seconds.
PATIENCE_S = 2.0
#: A supervisor that has not ended its rank this long after its own time limit is killed itself, in seconds.
OVERDUE_S = 10.0
#: The message of a rank whose supervisor has not seen its end.
_KILLED = "its supervisor was killed, or the machine was switched off"
_UNREADABLE = f"{_KILLED}; its status.json cannot be read"


class LocalRank:
    """One rank: its folder, and its keeper if this process has started it."""

    def __init__(self, folder: RankFolder, starter: Starter) -> None:
        self.folder = folder
        self._starter = starter
        self._process: StartedKeeper | None = None
        self._starts = 0
        #: The last observation, when no process of the rank was left; the folder is not read again.
        self._end: RankObservation | None = None
        #: Whether this process has started the supervisor or seen it alive: then they did not die together.
        self._was_alive = False
        #: What was observed last.
        self._seen = RankObservation(rank=folder.rank, state=RankState.PENDING)

    @property
    def gone(self) -> bool:
        """Whether it was observed that no process of the rank is left."""
        return self._end is not None

    @property
    def supervisor(self) -> int | None:
        """The pid of the keeper that was started here and has not ended, else the pid that the lock names; or None."""
        if self._process is not None and not self._process.ended():
            return self._process.pid
        return None if self.gone else self.folder.supervisor()

    def ensure_started(self) -> None:
        """Start a supervisor unless there is or was one. Raises OSError."""
        if self.folder.status() is not None or not self.reap():
            return
        self._starts += 1
        try:
            self._process = self._spawn()
            self._was_alive = True
        except (FileNotFoundError, PermissionError) as error:
            reason = f"{self._starter.python} cannot be started: {error.strerror}; correct the path of Python"
            self.folder.end_unstarted(None, reason)

    def _spawn(self) -> StartedKeeper:
        return self._starter.start(self.folder.path)

    def reap(self) -> bool:
        """Collect the keeper if it was started here and has ended. Returns whether no keeper of this process runs."""
        return self._process is None or self._process.ended()

    def let_go(self) -> None:
        """Stop watching the supervisor, which goes on."""
        if self._process is not None:
            self._process.let_go()
        self._process = None

    def observe(self) -> RankObservation:
        """Return what is known of the rank; if its folder cannot be read, the last observation and the reason."""
        try:
            self._seen = with_rights(self.folder.path, self._observe)
        except OSError as error:
            trouble = f"its folder cannot be read: {error.strerror or error}"
            if self._seen.message != trouble:
                log.warning("rank %s of run %s: %s", self.folder.rank, self.folder.run_id, trouble)
            self._seen = replace(self._seen, message=trouble)
        return self._seen

    def as_it_was(self, trouble: str) -> RankObservation:
        """Return the last observation, with `trouble` as its message if the rank had not ended."""
        return self._end or replace(self._seen, message=trouble)

    def _observe(self) -> RankObservation:
        if self._end is not None:
            return self._end
        no_child = self.reap()
        status = self.folder.status()
        if status is None:
            if no_child and self._never_started():
                self._start_again()
            return RankObservation(rank=self.folder.rank, state=RankState.PENDING)
        seen = self._judge(status)
        if seen.state.gone:
            self._end = seen
        return seen

    def _never_started(self) -> bool:
        """Whether no supervisor has started: it failed, or the service that prepared the rank ended before."""
        return not (self._process is not None and self._process.succeeded) and self.folder.supervisor() is None

    def _start_again(self) -> None:
        """Start the supervisor again, MAX_STARTS times at most: it died before it had written or started anything."""
        if self._starts < MAX_STARTS:
            self.ensure_started()
        else:
            self.folder.end_unstarted(None, f"its supervisor does not start: {self._last_words()}")

    def _last_words(self) -> str:
        lines = (self.folder.path / "supervisor.log").read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")[:500]

    def _judge(self, status: dict[str, Any]) -> RankObservation:
        supervised = status.get("state") == "exited" or self.folder.supervised()
        self._was_alive = self._was_alive or supervised
        if not supervised:
            # The supervisor may have written the end between the two reads.
            status = self.folder.status() or status
            if status.get("state") != "exited" and kill_leftovers(self.folder, patience_s=PATIENCE_S):
                self.folder.drop_secrets()
                lost = _observation(self.folder.rank, RankState.LOST, status)
                message = _UNREADABLE if status.get("unreadable") else _KILLED
                return replace(lost, message=message, supervisor_killed=self._was_alive)
        if status.get("state") == "exited":
            return _observation(self.folder.rank, RankState.EXITED, status)
        running = status.get("pid") is not None or (status.get("unreadable") and self.folder.started)
        return _observation(self.folder.rank, RankState.RUNNING if running else RankState.PENDING, status)

    def read_log(self, offset: int, limit: int) -> LogChunk:
        """Return lines of the log from a logical offset. Raises OSError."""
        # Asked before the log is read: lines written after this are read by the next call.
        final = self.gone or (self.folder.status() or {}).get("state") == "exited"
        return read_log(self.folder.path / "log", offset=offset, limit=limit, final=final)

    def kill(self, term_wait_s: float) -> None:
        """Order the end of the rank. Raises OSError."""
        overdue = self.folder.killed_for() > term_wait_s + OVERDUE_S
        self.folder.mark_killed()
        if self.gone or self.folder.end_unstarted(NEVER_STARTED, None):
            return
        keeper = self.folder.supervisor()
        # None: the supervisor is dead; or it has just started and will see the mark; or the lock does not name it.
        for pid in self.folder.find_supervisors() if keeper is None or overdue else [keeper]:
            # The keeper gets no SIGKILL: it ends what the supervisor leaves.
            self._signal(pid, signal.SIGKILL if overdue and pid != keeper else signal.SIGTERM)

    def _signal(self, pid: int, number: int) -> None:
        """Send a signal to a supervisor or its keeper, then SIGCONT: a stopped process must go on to receive it."""
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            # It supervises after the handle was opened, so the handle is not of a later process with the same pid.
            if self.folder.is_supervised_by(pid) and self.folder.supervised():
                signal.pidfd_send_signal(handle, number)
                signal.pidfd_send_signal(handle, signal.SIGCONT)
        except ProcessLookupError:
            return
        finally:
            os.close(handle)


class LocalRun:
    """One run and the ranks that have been prepared. Callers must hold `guard`."""

    def __init__(self, folder: RunFolder, starter: Starter) -> None:
        self.guard = threading.Lock()
        self.folder = folder
        self._starter = starter
        self._end: Observation | None = None
        #: Origin, user and nodes of the run; they do not change once a rank is fully prepared.
        self._facts: FolderFacts | None = None
        self.ranks = {rank: LocalRank(folder.rank(rank), starter) for rank in folder.ranks()}
        #: What was observed last; None before the first time.
        self._seen: Observation | None = None
        #: Why the run could not be observed the last time; None if it could.
        self._trouble: str | None = None

    def rank(self, rank: int) -> LocalRank:
        """Return a rank, created if it is not known."""
        if rank not in self.ranks:
            self._end = None
            self.ranks[rank] = LocalRank(self.folder.rank(rank), self._starter)
        return self.ranks[rank]

    def catch_up(self, ranks: Iterable[int]) -> None:
        """Take over ranks that another service has prepared, and its order to end the run. Raises OSError."""
        for number in ranks:
            self.rank(number)
        if self._end is not None and not self._end.killed and self.folder.killed:
            self._end = None

    @property
    def never_started(self) -> bool:
        """Whether it was observed that the run was ended before any rank of it was prepared."""
        return self._end is not None and self._end.killed and not self.ranks

    @property
    def gone(self) -> bool:
        """Whether it was observed that no process of the run is left."""
        return self._end is not None or all(rank.gone for rank in self.ranks.values())

    def let_go(self) -> None:
        """Stop watching the supervisors, which go on."""
        for rank in self.ranks.values():
            rank.let_go()

    def facts(self) -> FolderFacts:
        """Return origin, user and nodes of the run, as far as its folder can be read."""
        if self._facts is not None and len(self._facts.nodes) == len(self.ranks):
            return self._facts
        try:
            self._facts = with_rights(self.folder.path, self.folder.facts)
        except OSError:  # the run's ranks report the error; it must not keep other runs from being observed
            return self._facts or FolderFacts()
        return self._facts

    def observe(self) -> Observation:
        """Return what is known of the run; if its folder cannot be read, the last observation and the reason."""
        if self._end is not None:
            return self._end
        try:
            self._seen = with_rights(self.folder.path, self._observe)
            self._trouble = None
        except OSError as error:
            trouble = f"the folder of its run cannot be read: {error.strerror or error}"
            if trouble != self._trouble:
                log.warning("run %s: %s", self.folder.run_id, trouble)
            self._trouble = trouble
            self._seen = self._as_it_was(trouble)
        return self._seen

    def _as_it_was(self, trouble: str) -> Observation:
        facts = self.facts()
        ranks = tuple(rank.as_it_was(trouble) for _, rank in sorted(self.ranks.items()))
        return Observation(
            run_id=self.folder.run_id,
            ranks=ranks,
            origin=facts.origin,
            nodes=facts.nodes,
            user=facts.user,
            killed=self._seen is not None and self._seen.killed,
        )

    def _observe(self) -> Observation:
        # First the mark, then the ranks: a rank that is prepared after the mark is never started.
        killed = self.folder.killed
        if killed:
            self.catch_up(self.folder.ranks())
        ranks = tuple(rank.observe() for _, rank in sorted(self.ranks.items()))
        facts = self.facts()
        seen = Observation(
            run_id=self.folder.run_id,
            ranks=ranks,
            origin=facts.origin,
            nodes=facts.nodes,
            user=facts.user,
            killed=killed,
        )
        if self.gone:
            self._end = seen
        return seen


def _observation(rank: int, state: RankState, status: dict[str, Any]) -> RankObservation:
    return RankObservation(
        rank=rank,
        state=state,
        exit_code=exit_code_of(status) if state is RankState.EXITED else None,
        notified_at=time_of(status.get("notified_at")),
        signal=signal_of(status),
        ended_at=time_of(status.get("ended_at")) if state is RankState.EXITED else None,
        signalled=signalled_of(status),
        caught=caught_of(status),
        done=bool(status.get("done")),
        done_all=bool(status.get("done_all")),
        checkpoint=checkpoint_of(status.get("checkpoint")),
        spoilt=status.get("spoilt") is True,
        watched=watched if isinstance(watched := status.get("watched"), bool) else None,
        job_state=text_of(status.get("job_state")),
        summary=summary_of(status),
        start_error=text_of(status.get("start_error")) if state is RankState.EXITED else None,
        blame=Blame.NOBODY if status.get("blame") == Blame.NOBODY else Blame.NODE,
        message=ending_of(status) if state is RankState.EXITED else None,
    )


def runs_in(root: Path, starter: Starter) -> dict[str, LocalRun]:
    """Return every run that has a folder, by id."""
    return {str(folder.run_id): LocalRun(folder, starter) for folder in RunFolder.all(root)}
