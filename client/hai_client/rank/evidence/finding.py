"""Finds evidence of checkpoints: files that changed since the run began, by any writer, without help of the job.

The places are HAI_CHECKPOINT_DIR, the watched paths, and the folders of checkpoints that were heard of elsewhere: in
the folder where the job works, or open in a process of the rank. `judging` says which files are checkpoints. The newest
of them counts, with its own time, once it is complete: no process of the rank has it open for writing, and either it
was unchanged for as long as `complete` demands, or all processes that could have written it have left.

A checkpoint that was found is *spoilt* if its file is none any more at the end of the rank: written over in place and
torn, cut short, removed. Then the newest one that is left counts.

File systems are read in a thread, a little at a time, so that a file server that hangs does not block the supervisor.
"""
# ruff: noqa: PTH118, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import select
import time

from hai_client.linux.identity import acting_as
from hai_client.rank.evidence.complete import QUIET_S
from hai_client.rank.evidence.indexes import in_index
from hai_client.rank.evidence.judging import RECORD, TORN, FileFacts, why_not
from hai_client.rank.evidence.saves import Saves
from hai_client.rank.evidence.sweep import Found, Sweep
from hai_client.rank.evidence.tree_watch import TreeWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.rank.starting.spec import Spec

#: Most entries of a look, and its longest time in seconds. After a look the thread rests at least `RESTS` times as long
#: as the look took; after the notice, as long as the look took.
ENTRIES = 2000
LOOK_S = 0.05
RESTS = 9
#: Time between two looks, before and after the notice, seconds.
EVERY_S = 5.0
HURRY_S = 0.25
#: Time between two reads of the kernel's events; and from an event to the next look, after the notice; seconds.
HEAR_S = 0.05
#: A file with a time this much later than the last event was changed without an event, seconds.
UNHEARD_S = 0.2
MAX_EVERY_S = 60.0
NODES_PER_SECOND = 4
#: How long the last look may take, seconds.
LAST_LOOK_S = 1.0
#: Shortest time between two reports, seconds.
POST_EVERY_S = 5.0
#: A checkpoint that the job itself reported counts, not a file that is newer by less than this, seconds.
TOLD_FOR_S = 2.0


class Evidence:
    """Finds the newest complete checkpoint of a rank by its files.

    Args:
        spec: The rank's spec.
        account: The Unix account of the task; None: the account of this process.
        since: When the command was started, nanoseconds since the epoch.
    """

    def __init__(self, spec: Spec, account: Account | None, since: int) -> None:
        self._account = account
        checkpoints = spec.env.get("HAI_CHECKPOINT_DIR")
        self._cwd = spec.cwd
        named = [*([checkpoints] if checkpoints else []), *spec.watch]
        self._places = list(dict.fromkeys(os.path.join(spec.cwd, path) for path in named))
        self._nodes = _nodes(spec)
        self._every_s = EVERY_S
        if spec.rank:
            # All ranks see the same folder: ranks other than 0 need not look as often.
            self._every_s = min(MAX_EVERY_S, EVERY_S + self._nodes / NODES_PER_SECOND)
        #: The files that are being written; used in the main thread.
        self.saves = Saves((spec.folder, spec.runtime))
        self._sweep = Sweep(since, self.saves.is_own)
        self._noticed_at: int | None = None
        self._tree_watch = TreeWatch(alone=self._nodes == 1)
        #: Number of events when the newest checkpoint was found complete by events; None: not found by events.
        self._heard: int | None = None
        #: Whether events showed that the growing file was closed, as part of a save like those before.
        self._growth_heard = False
        #: Seconds until the checkpoint will have been unchanged for long enough.
        self._silent_in_s = HURRY_S
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None
        self._last: threading.Event | None = None
        self._forced = False
        #: The newest complete checkpoint; for others after the last look only.
        self.newest: Found | None = None
        self._posted: Found | None = None
        self._posted_at = float("-inf")
        #: Whether there is a newer file that is not complete yet.
        self._unsettled = False
        #: Whether the newest checkpoint that was found is none any more (read after the last look).
        self.spoilt = False
        #: A newer file that is no checkpoint, and why not, as the end of a sentence; None: there is none.
        self.refused: tuple[str, str] | None = None
        #: Whether the command failed by itself, so that what it wrote last may be a part of a save.
        self._failed = False

    def start(self) -> None:
        """Start the thread, if it is not started yet."""
        if self._thread is not None:
            return
        import threading

        self._wake = os.pipe()
        for fd in self._wake:
            os.set_blocking(fd, False)
        self._thread = threading.Thread(target=self._run, args=(self._wake[0],), name="evidence", daemon=True)
        self._thread.start()

    def look(self, pids: Iterable[int]) -> None:
        """Note the files that the processes of the rank are writing."""
        with acting_as(self._account):
            self.saves.look(pids, time.monotonic())

    def noticed(self, pids: Iterable[int]) -> None:
        """Note that the job got its notice: look more often from now on."""
        now = time.monotonic()
        with acting_as(self._account):
            self.saves.look(pids, now)
        self.saves.noticed(now)
        self._noticed_at = time.time_ns()
        self.start()
        self._ring()

    def writing(self, pids: Iterable[int], begun: float = float("inf")) -> bool:
        """Return whether one of the processes has a checkpoint open for writing at this moment.

        Args:
            pids: The processes.
            begun: Only saves count that were going on at this time already, monotonic seconds.
        """
        with acting_as(self._account):
            found = self.saves.writing(pids, time.monotonic(), begun)
        if found and begun != float("inf"):
            self._tree_watch.take()
        closed = self._tree_watch.closed
        return any(closed.get(path, float("-inf")) <= begun for path in found)

    def tear(self, pids: Iterable[int]) -> None:
        """Note that the processes are about to be ended, so that files they are writing stay incomplete."""
        with acting_as(self._account):
            self.saves.tear(pids)

    def going_on(self, now: float) -> bool:
        """Return whether a rank of the gang is writing a checkpoint (now: monotonic seconds)."""
        return self.saves.going_on(now) or self.others_save(now)

    def others_save(self, now: float) -> bool:
        """Return whether a file grows that this rank is not writing itself."""
        return now - self._sweep.grown_at < QUIET_S and not self._growth_heard

    def settled(self, now: float) -> bool:
        """Return whether there is a complete checkpoint since the notice, and no rank is writing another one."""
        newest, noticed = self.newest, self._noticed_at
        if newest is None or noticed is None or newest.at < noticed:
            return False
        return not self._unsettled and not self.going_on(now)

    def unchanged(self) -> bool:
        """Return whether no event came since events showed that the newest checkpoint is complete.

        True also where it was not found complete by events.
        """
        heard = self._heard
        if heard is None:
            return True
        self._tree_watch.take()
        return self._tree_watch.count == heard

    def news(self, now: float, *, at_once: bool = False) -> Found | None:
        """Return a newer checkpoint than the last one that was returned; None if there is none, or it is too early.

        Args:
            now: Monotonic seconds.
            at_once: Whether to return it even if the last report was less than `POST_EVERY_S` ago.
        """
        newest = self.newest
        if newest is None or (self._posted is not None and newest.at <= self._posted.at):
            return None
        if not at_once and now - self._posted_at < POST_EVERY_S:
            return None
        self._posted, self._posted_at = newest, now
        return newest

    def last_look(self, *, forced: bool, failed: bool = False) -> None:
        """Look once more, for a second at most, after all processes of the rank have left.

        Args:
            forced: Whether the processes were ended; False: they have left by themselves.
            failed: Whether the command left by itself with a status of its own: what it had begun to save may be torn.
        """
        import threading

        self._failed = failed

        # No file is open any more.
        self.saves.look((), time.monotonic())
        self._forced = forced
        self._last = threading.Event()
        self.start()
        self._ring()
        self._last.wait(LAST_LOOK_S + HURRY_S)

    def _ring(self) -> None:
        """Wake the thread up."""
        if self._wake is not None:
            with contextlib.suppress(BlockingIOError):
                os.write(self._wake[1], b"\0")

    def _run(self, wake: int) -> None:
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        with acting_as(self._account):
            self._find_places()
            if self._tree_watch.fd is not None:
                poll.register(self._tree_watch.fd, select.POLLIN)
            while True:
                began = time.monotonic()
                last = self._last
                if last is None:
                    self._step()
                else:
                    self._learn()
                    self._sweep.complete(LAST_LOOK_S)
                    self._choose(last=True)
                    self._tree_watch.close()
                    last.set()
                    return
                every, rests = self._every_s, RESTS
                if self._noticed_at is not None:
                    every, rests = min(HURRY_S, self._silent_in_s or HURRY_S), 1
                self._wait(poll, wake, max(every, rests * (time.monotonic() - began)))

    def _wait(self, poll: select.poll, wake: int, seconds: float) -> None:
        """Wait until the next look, and take the kernel's events meanwhile."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            ready = [fd for fd, _ in poll.poll(left * 1000)]
            if wake in ready:
                with contextlib.suppress(BlockingIOError):
                    while os.read(wake, 4096):
                        pass
                return
            if ready:
                self._tree_watch.step()
                # Pause: a log that is opened and closed for each line must not keep a processor busy.
                pause = HEAR_S if self._noticed_at is not None else min(left, HEAR_S)
                time.sleep(pause)
                if self._noticed_at is not None:
                    return

    def _find_places(self) -> None:
        for place in self._places:
            self._sweep.add(place)
        self._tree_watch.listen(self._places, self._cwd)
        # Real paths too: the kernel shows open files by them.
        self.saves.roots = tuple({*self._places, *(os.path.realpath(place) for place in self._places)})

    def _step(self) -> None:
        self._learn()
        self._tree_watch.step()
        self._sweep.look(ENTRIES, LOOK_S)
        self._choose(last=False)

    def _learn(self) -> None:
        self._tree_watch.take()
        for written in (self.saves.closed, self._tree_watch.elsewhere):
            while written:
                self._sweep.learn(os.path.dirname(written.pop()))
        while self._tree_watch.came:
            self._sweep.came(*self._tree_watch.came.pop())

    def _choose(self, *, last: bool) -> None:
        """Find the newest file that is complete, and note whether a newer one is incomplete."""
        open_now = frozenset() if last else self.saves.open
        files = self._sweep.files
        indexed = in_index(files[-1].path) if files else None
        heard_all = self._tree_watch.hears(self._sweep.learned)
        quiet, heard = self._tree_watch.quiet_needed(elsewhere=not heard_all, indexed=indexed), self._tree_watch.count
        silence = self._tree_watch.quiet_for(time.monotonic())
        # A rename does not change the time of a file. Where events show every change, the events decide.
        heard_enough = quiet >= QUIET_S or silence >= quiet
        self._silent_in_s = max(0.0, quiet - silence) if quiet < QUIET_S else HURRY_S
        now = time.time_ns()
        last_heard = now - (silence - UNHEARD_S) * 1e9
        self._growth_heard = quiet < QUIET_S and self._sweep.grown_to <= last_heard
        self._unsettled, self.refused = False, None
        found = self.newest
        if last and found is not None and not self._sweep.is_unchanged(found):
            self.newest = None
        for file in reversed(files):
            if self.newest is not None and file.at <= self.newest.at:
                break
            # A file newer than the last event was written without an event.
            needed = max(QUIET_S, quiet) if file.at > last_heard else quiet
            fresh = not heard_enough or now - file.at < needed * 1e9
            why = why_not(self._sweep.facts(file, torn=file.path in self.saves.torn))
            if why == RECORD:
                self._tree_watch.records.add(file.path)
                continue
            if why == TORN:
                self.refused = self.refused or (file.path, why)
                continue
            if file.path in open_now or (fresh and not (last and (not self._forced or self._nodes == 1))):
                # A process may still be writing it, perhaps on another node.
                self._unsettled = True
                continue
            if why is None and last:
                why = self._why_doubtful(file, fresh=fresh)
            if why is not None:
                self.refused = self.refused or (file.path, why)
                continue
            self.newest = file
            unsure = open_now | self.saves.torn
            self._sweep.note_complete(one for one in files if one.at <= file.at and one.path not in unsure)
            break
        self._heard = heard if quiet < QUIET_S else None
        self.spoilt = found is not None and (self.newest is None or self.newest.at < found.at)

    def _why_doubtful(self, file: Found, *, fresh: bool) -> str | None:
        """Return why a file, at the end of the rank, is not sure to be a whole checkpoint; None: it is."""
        if self._forced and file.at >= (self._noticed_at or 0):
            folder = os.path.dirname(file.path)
            torn = self.saves.torn - self._tree_watch.records
            if any(os.path.dirname(path) == folder and not _is_record(path) for path in torn):
                return "was written together with one that is torn"
        if fresh and in_index(file.path) is False:
            return "is not in the index of its framework, which would not find it again"
        if fresh and self._failed and not self._sweep.is_whole(file):
            return "was written just before the command failed, and may be a part of a checkpoint"
        return None


def _is_record(path: str) -> bool:
    return why_not(FileFacts(path, place=os.path.dirname(path), size=1, text=True)) == RECORD


def is_newer(seen_at: float, told: dict[str, Any] | None, told_at: float | None) -> bool:
    """Return whether a checkpoint found by its files is newer than the last known one (seconds since the epoch)."""
    if told is None or told_at is None:
        return True
    return seen_at > told_at + (TOLD_FOR_S if told.get("source") != "seen" else 0.0)


def _nodes(spec: Spec) -> int:
    text = spec.env.get("HAI_NODES", "")
    return int(text) if text.isascii() and text.isdigit() else 1
