"""Clients that watch: they follow the feed and logs, and run `hai list`, while processes are killed."""

from __future__ import annotations

import itertools
import os
import subprocess
import threading
import time
from collections.abc import Callable

from chaos.load import Load
from chaos.platforms.base import ADMIN, Platform
from chaos.records import ENDED, Strange, own_lines
from e2e.conftest import BIN
from hai_client.errors import HaiError, Unavailable
from hai_client.wire.schema import LogLine

#: Statuses of `hai` that are right in a gap: it worked, or the platform cannot be reached.
RIGHT = (0, 4)
#: The log of every fourth task is followed, and at most 12 logs at once.
FOLLOW_EVERY = 4
FOLLOWERS = 12
#: The event that tells a reader of the feed that the feed has come to its end: a mark on a node.
LAST = "node.mark"


class Clients:
    """The threads of the clients that watch."""

    def __init__(self, platform: Platform, load: Load) -> None:
        self._platform, self._load = platform, load
        self._stopped = threading.Event()
        self._room = threading.Semaphore(FOLLOWERS)
        self._readers: list[threading.Thread] = []
        self.strange: list[Strange] = []
        #: Numbers of the events, in the order in which they were told.
        self.feed: list[int] = []
        self.ended: set[int] = set()
        #: When the state of some task changed, seconds since the epoch: the service has decided or seen something.
        self.decided: list[float] = []
        self.end_of_feed = threading.Event()
        self.followed: dict[int, list[tuple[int, str]]] = {}
        #: How often `hai list` was run, and how often the platform was away.
        self.asked = self.away = 0

    def start(self) -> None:
        """Start the threads."""
        for target in (self._follow_feed, self._follow_logs, self._type_commands, self._ask):
            threading.Thread(target=target, name=target.__name__, daemon=True).start()

    def stop(self) -> None:
        """Begin no new call of `hai list` and no new log."""
        self._stopped.set()

    def finish(self, seconds: float) -> None:
        """Wait for the end of the feed and of the logs that are followed."""
        ends = time.monotonic() + seconds
        self.end_of_feed.wait(seconds)
        for reader in self._readers:
            reader.join(max(0.0, ends - time.monotonic()))

    def _over_and_over(self, what: str, look: Callable[[int], None], pause_s: float) -> None:
        """Call `look` again and again; errors that do not say that the platform is away are recorded."""
        for turn in itertools.count():
            if self._stopped.is_set():
                return
            self._try(what, lambda: look(turn))  # noqa: B023
            self._stopped.wait(pause_s)

    def _try(self, what: str, look: Callable[[], None]) -> bool:
        try:
            look()
        except Unavailable:
            return False
        except HaiError as error:
            self.strange.append(Strange(time.time(), what, repr(error)))
            return False
        return True

    def _follow_feed(self) -> None:
        for turn in itertools.count():
            if self._try("follow the feed", lambda: self._read_feed(turn)):  # noqa: B023
                return
            time.sleep(0.5)

    def _read_feed(self, turn: int) -> None:
        after = self.feed[-1] if self.feed else 0
        for event in self._platform.client(ADMIN, turn).events(after=after, user="*"):
            self.feed.append(event.seq)
            if event.kind == "task.state":
                self.decided.append(event.at.timestamp())
                if event.data["to"] in ENDED and event.task_id is not None:
                    self.ended.add(event.task_id)
            elif event.kind == LAST:
                self.end_of_feed.set()
                return

    def _follow_logs(self) -> None:
        begun: set[int] = set()
        while not self._stopped.is_set():
            for number in list(self._load.accepted.values()):
                if number % FOLLOW_EVERY == 0 and number not in begun and self._room.acquire(blocking=False):
                    begun.add(number)
                    self._readers.append(threading.Thread(target=self._read_log, args=(number,), daemon=True))
                    self._readers[-1].start()
            self._stopped.wait(0.2)

    def _read_log(self, number: int) -> None:
        try:
            for turn in itertools.count(number):
                lines: list[LogLine] = []

                def read(turn: int = turn, lines: list[LogLine] = lines) -> None:
                    lines.extend(self._platform.client(ADMIN, turn).follow_logs(number))

                if self._try(f"follow the log of task {number}", read):
                    self.followed[number] = own_lines(lines)
                    return
                time.sleep(0.5)
        finally:
            self._room.release()

    def _type_commands(self) -> None:
        for turn in itertools.count():
            if self._stopped.wait(1.0):
                return
            environ = os.environ | self._platform.environ(ADMIN, turn)
            words = ["list"] if turn % 2 else ["nodes"]
            done = subprocess.run(
                [str(BIN / "hai"), *words], env=environ, capture_output=True, text=True, timeout=120, check=False
            )
            self.asked += 1
            self.away += done.returncode == 4
            if done.returncode not in RIGHT:
                answer = f"status {done.returncode}: {done.stderr.strip()[-300:]}"
                self.strange.append(Strange(time.time(), f"hai {' '.join(words)}", answer))

    def _ask(self) -> None:
        def look(turn: int) -> None:
            known = list(self._load.accepted.values())
            if known:
                self._platform.client(ADMIN, turn).task(known[-1])

        self._over_and_over("status of a task", look, 0.5)
