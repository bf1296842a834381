"""Sends the log to the service, where rank and service share no volume."""
# ruff: noqa: PTH118, PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import bisect
import os

from hai_client.rank.shared.api import Answer, RankApi, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading

#: Size of the largest piece, bytes; longer than the longest line.
PIECE_BYTES = 256 * 1024
FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
#: Time between two pieces: users watch rank 0; the other ranks wait longer in a large gang, to spare the service.
WATCHED_EVERY_S = 1.0
OTHERS_EVERY_S = 2.0
RANKS_PER_SECOND = 20
MAX_EVERY_S = 30.0


def every_s(rank: int, ranks: int) -> float:
    """Return the seconds between two pieces of a log that grows slowly."""
    return WATCHED_EVERY_S if rank == 0 else min(MAX_EVERY_S, OTHERS_EVERY_S + ranks / RANKS_PER_SECOND)


class LogUploader:
    """A thread that follows the parts of a log and sends them in order, each byte once.

    The service answers with the offset that it expects, so that neither a lost answer nor a restart of the service
    repeats or loses a line. Parts that were rotated away before they could be sent are lost; the service is told so.
    """

    def __init__(self, api: RankApi, folder: str, *, rate: float, every_s: float) -> None:
        self._api = api
        self._folder = folder
        self._rate = rate
        self._every_s = every_s
        self._offset = 0
        self._pause = FIRST_PAUSE_S
        self._closed = False
        self._wake: threading.Event | None = None
        self._over: threading.Event | None = None

    def start(self) -> None:
        """Begin."""
        import threading

        self._wake, self._over = threading.Event(), threading.Event()
        threading.Thread(target=self._run, args=(self._wake, self._over), name="log", daemon=True).start()

    def finish(self, seconds: float) -> bool:
        """Wait until the complete log is sent, at most `seconds`; return whether it is."""
        if self._wake is None or self._over is None:
            return False
        self._closed = True
        self._wake.set()
        return self._over.wait(seconds)

    def _run(self, wake: threading.Event, over: threading.Event) -> None:
        while True:
            rest = self._step()
            if rest is None:
                over.set()
                return
            if wake.wait(rest):
                wake.clear()

    def _step(self) -> float | None:
        """Send the next piece; return how long to rest then, seconds. None: there is nothing more to do."""
        # Read first: lines written afterwards are found by the next step.
        closed = self._closed
        start, data, more = read_piece(self._folder, self._offset, PIECE_BYTES, closed=closed)
        if not data:
            return None if closed else self._every_s
        try:
            answer = self._api.send_log(start, data, skip=start > self._offset)
        except Unreachable:
            return self._back_off()
        if answer.status == 200:
            self._pause = FIRST_PAUSE_S
            self._offset = start + len(data)
            paced = len(data) / self._rate
            return paced if more or closed else max(paced, self._every_s)
        return self._refused(answer)

    def _refused(self, answer: Answer) -> float | None:
        if answer.status == 409 and answer.offset is not None:
            self._offset = answer.offset
            return self._back_off()
        if answer.status >= 500 or answer.status in (408, 429):
            return self._back_off()
        # The run is over for the service, or it refuses the piece for good.
        return None

    def _back_off(self) -> float:
        pause, self._pause = self._pause, min(MAX_PAUSE_S, self._pause * 2)
        return pause


def read_piece(folder: str, offset: int, limit: int, *, closed: bool) -> tuple[int, bytes, bool]:
    """Return whole lines of a log, at most `limit` bytes.

    Args:
        folder: The folder of the log's parts.
        offset: Where to begin, bytes since the first line.
        limit: Most bytes; must be longer than any line.
        closed: Whether the log is complete, so that its last line is too.

    Returns:
        The offset of the piece (later than `offset` where older parts are gone), the piece, and whether more follows.
    """
    try:
        starts = sorted(int(name[:-4]) for name in os.listdir(folder) if name.endswith(".log") and name[:-4].isdigit())
    except OSError:
        starts = []
    if not starts:
        return offset, b"", False
    start = max(offset, starts[0])
    index = bisect.bisect_right(starts, start) - 1
    try:
        with open(os.path.join(folder, f"{starts[index]:020d}.log"), "rb") as file:
            file.seek(start - starts[index])
            data = file.read(limit)
    except OSError:
        # The part was just rotated away: the next step begins after it.
        return offset, b"", True
    full = len(data) == limit
    if full or not closed:
        data = data[: data.rfind(b"\n") + 1]
    return start, data, full or index + 1 < len(starts)
