"""Evidence of checkpoints: files that changed since the run began, whoever wrote them and whatever the job says.

Looked at is what lies below HAI_CHECKPOINT_DIR and the watched paths, and the folders of checkpoints that a process of
the rank was seen to write elsewhere (`hai_client.rank.saves` says what that is). Of these the newest file counts, with
its own time, once it is complete: nobody of the rank has it open for writing, and it has been quiet for as long as
`hai_client.rank.complete` says or everybody who could have written it has left. What was open when its writer was ended
never counts.

File systems are looked at in a thread, a little at a time: a server that does not answer holds nobody up.
"""
# ruff: noqa: PTH118, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import select
import time

from hai_client.rank.complete import QUIET_S
from hai_client.rank.ears import Ears
from hai_client.rank.identity import acting_as
from hai_client.rank.saves import Saves
from hai_client.rank.sweep import Found, Sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable
    from typing import Any

    from hai_client.rank.identity import Account
    from hai_client.rank.spec import Spec

#: One look: so many entries, so many seconds. After a look the thread rests, at least so many times as long; after the
#: notice for as long.
ENTRIES = 2000
LOOK_S = 0.05
RESTS = 9
#: Seconds between two looks, and after the notice.
EVERY_S = 5.0
HURRY_S = 0.25
#: Between two times that what the kernel tells is taken; and until the next look after the notice if there was some.
HEAR_S = 0.05
#: What was written so much later than the last change that was heard of is not the same change, seconds.
UNHEARD_S = 0.2
MAX_EVERY_S = 60.0
NODES_PER_SECOND = 4
#: How long the last look may take, seconds.
LAST_LOOK_S = 1.0
#: Reports are not posted more often, seconds.
POST_EVERY_S = 5.0
#: What the job itself says of a checkpoint counts rather than files that are hardly newer, seconds.
TOLD_FOR_S = 2.0


class Evidence:
    """What the files of a rank say about its checkpoints.

    Args:
        since: When the command was started, nanoseconds since the epoch.
    """

    def __init__(self, spec: Spec, account: Account | None, since: int) -> None:
        self._account = account
        checkpoints = spec.env.get("HAI_CHECKPOINT_DIR")
        self._places = [os.path.join(spec.cwd, path) for path in [*([checkpoints] if checkpoints else []), *spec.watch]]
        self._nodes = _nodes(spec)
        self._every_s = EVERY_S
        if spec.rank:
            # All ranks see the same folder: the others need not look as often.
            self._every_s = min(MAX_EVERY_S, EVERY_S + self._nodes / NODES_PER_SECOND)
        #: What is being written; looked at in the main thread.
        self.saves = Saves((spec.folder, spec.runtime))
        self._sweep = Sweep(since, self.saves.is_own)
        self._noticed_at: int | None = None
        self._ears = Ears(alone=self._nodes == 1)
        #: How much had been heard when the newest checkpoint was found to be complete for that; None: not for that.
        self._heard: int | None = None
        #: Whether what grew was heard to be closed, and was a part of a save like those before.
        self._growth_heard = False
        #: When the silence will have been long enough, seconds from then.
        self._silent_in_s = HURRY_S
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None
        self._last: threading.Event | None = None
        self._forced = False
        #: The newest complete checkpoint.
        self._newest: Found | None = None
        self._posted: Found | None = None
        self._posted_at = float("-inf")
        #: Whether something newer than that is not complete yet.
        self._unsettled = False

    def start(self) -> None:
        """Begin to look, if that has not begun."""
        if self._thread is not None:
            return
        import threading

        self._wake = os.pipe()
        for fd in self._wake:
            os.set_blocking(fd, False)
        self._thread = threading.Thread(target=self._run, args=(self._wake[0],), name="evidence", daemon=True)
        self._thread.start()

    def look(self, pids: Iterable[int]) -> None:
        """See what the processes of the rank are writing."""
        with acting_as(self._account):
            self.saves.look(pids, time.monotonic())

    def noticed(self, pids: Iterable[int]) -> None:
        """The job is told to leave: from now on every moment matters."""
        now = time.monotonic()
        with acting_as(self._account):
            self.saves.look(pids, now)
        self.saves.noticed(now)
        self._noticed_at = time.time_ns()
        self.start()
        self._ring()

    def writing(self, pids: Iterable[int]) -> bool:
        """Whether one of the processes has a checkpoint open for writing at this moment."""
        with acting_as(self._account):
            return bool(self.saves.writing(pids, time.monotonic()))

    def tear(self, pids: Iterable[int]) -> None:
        """The processes are about to be ended without a chance to complete what they are writing."""
        with acting_as(self._account):
            self.saves.tear(pids)

    def going_on(self, now: float) -> bool:
        """Whether somebody of the gang is writing a checkpoint (now: monotonic seconds)."""
        return self.saves.going_on(now) or self.others_save(now)

    def others_save(self, now: float) -> bool:
        """Whether a file grows that is none of those which this rank itself is writing."""
        return now - self._sweep.grown_at < QUIET_S and not self._growth_heard

    def settled(self, now: float) -> bool:
        """Whether there is a complete checkpoint since the notice, and nothing has changed since for a while."""
        newest, noticed = self._newest, self._noticed_at
        if newest is None or noticed is None or newest.at < noticed:
            return False
        return not self._unsettled and not self.going_on(now)

    def unchanged(self) -> bool:
        """Whether nothing was heard since the newest checkpoint was found to be complete, where that is why it was."""
        heard = self._heard
        if heard is None:
            return True
        self._ears.take()
        return self._ears.count == heard

    def news(self, now: float, *, at_once: bool = False) -> Found | None:
        """A newer checkpoint than the last one that was returned, not more often than reports are to be posted."""
        newest = self._newest
        if newest is None or (self._posted is not None and newest.at <= self._posted.at):
            return None
        if not at_once and now - self._posted_at < POST_EVERY_S:
            return None
        self._posted, self._posted_at = newest, now
        return newest

    def last_look(self, *, forced: bool) -> None:
        """Everybody has left: look once more, for a second at most.

        Args:
            forced: Whether they were ended, rather than have left by themselves.
        """
        import threading

        # Nobody has anything open any more.
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
            if self._ears.fd is not None:
                poll.register(self._ears.fd, select.POLLIN)
            while True:
                began = time.monotonic()
                last = self._last
                if last is None:
                    self._step()
                else:
                    self._learn()
                    self._sweep.complete(LAST_LOOK_S)
                    self._choose(last=True)
                    self._ears.close()
                    last.set()
                    return
                every, rests = self._every_s, RESTS
                if self._noticed_at is not None:
                    every, rests = min(HURRY_S, self._silent_in_s or HURRY_S), 1
                self._wait(poll, wake, max(every, rests * (time.monotonic() - began)))

    def _wait(self, poll: select.poll, wake: int, seconds: float) -> None:
        """Until the next look; what the kernel tells is heard meanwhile."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            ready = [fd for fd, _ in poll.poll(left * 1000)]
            if wake in ready:
                with contextlib.suppress(BlockingIOError):
                    while os.read(wake, 4096):
                        pass
                return
            if ready:
                self._ears.step()
                # A log that is opened and closed for each line must not keep a processor busy.
                pause = HEAR_S if self._noticed_at is not None else min(left, HEAR_S)
                time.sleep(pause)
                if self._noticed_at is not None:
                    return

    def _find_places(self) -> None:
        for place in self._places:
            self._sweep.add(place)
        self._ears.listen(self._places)
        # As the kernel names open files.
        self.saves.roots = tuple({*self._places, *(os.path.realpath(place) for place in self._places)})

    def _step(self) -> None:
        self._learn()
        self._ears.step()
        self._sweep.look(ENTRIES, LOOK_S)
        self._choose(last=False)

    def _learn(self) -> None:
        while self.saves.closed:
            self._sweep.learn(os.path.dirname(self.saves.closed.pop()))

    def _choose(self, *, last: bool) -> None:
        """The newest file that is complete."""
        torn = self.saves.torn
        spoilt = {os.path.dirname(path) for path in torn}
        open_now = frozenset() if last else self.saves.open
        quiet, heard = self._ears.quiet_needed(elsewhere=self._sweep.learned), self._ears.count
        silence = self._ears.quiet_for(time.monotonic())
        # Times of files say nothing of what was renamed or made. Where all is heard, that is what counts.
        heard_enough = quiet == QUIET_S or silence >= quiet
        self._silent_in_s = max(0.0, quiet - silence) if quiet < QUIET_S else HURRY_S
        now = time.time_ns()
        last_heard = now - (silence - UNHEARD_S) * 1e9
        self._growth_heard = quiet < QUIET_S and self._sweep.grown_to <= last_heard
        unsettled = False
        for file in reversed(self._sweep.files):
            if self._newest is not None and file.at <= self._newest.at:
                break
            if file.path in torn:
                continue
            # What is newer than the last that was heard was written unheard.
            needed = QUIET_S if file.at > last_heard else quiet
            fresh = not heard_enough or now - file.at < needed * 1e9
            if file.path in open_now or (fresh and not (last and (not self._forced or self._nodes == 1))):
                # Somebody is, or may be, in the middle of it, perhaps on another node.
                unsettled = True
                continue
            if last and self._forced and os.path.dirname(file.path) in spoilt and file.at >= (self._noticed_at or 0):
                # A part of a checkpoint whose other part is torn.
                continue
            self._newest = file
            break
        self._heard = heard if quiet < QUIET_S else None
        self._unsettled = unsettled


def is_newer(seen_at: float, told: dict[str, Any] | None, told_at: float | None) -> bool:
    """Whether a checkpoint that was seen says more than the last one that is known (seconds since the epoch)."""
    if told is None or told_at is None:
        return True
    return seen_at > told_at + (TOLD_FOR_S if told.get("source") != "seen" else 0.0)


def _nodes(spec: Spec) -> int:
    text = spec.env.get("HAI_NODES", "")
    return int(text) if text.isascii() and text.isdigit() else 1
