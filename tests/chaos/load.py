"""The load: small tasks of several users, each submitted with a key until it is accepted.

The tasks that come follow from a seed; when they come follows from how fast others end.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chaos import rank
from chaos.platforms.base import USERS, Platform
from chaos.records import Strange
from hai_client import TaskRequest
from hai_client.errors import HaiError, Unavailable

#: Shapes of tasks, by the name that `rank` knows: the profile, the grace in seconds, and the share of each.
SHAPES = {
    "plain": ("sigterm", 20.0, 4),
    "saves": ("sigterm", 20.0, 4),
    "cooperative": ("cooperative", 20.0, 4),
    "periodic": ("sigterm", 20.0, 2),
    "deaf": ("sigterm", 1.0, 1),
    "kill": ("kill", 20.0, 1),
    "naked": ("sigterm", 20.0, 1),
}
PRIORITIES = ("LOW", "BELOW_NORMAL", "NORMAL", "NORMAL", "NORMAL", "ABOVE_NORMAL", "HIGH", "VERY_HIGH")
#: Seconds between two tries of a submission.
AGAIN_S = 0.2
SENDERS = 2


@dataclass(frozen=True)
class Work:
    """A task to submit."""

    #: The name of the task, which is also the key of the submission.
    name: str
    user: str
    request: TaskRequest


def work(seed: int, number: int, nodes: int, home: Path, without: frozenset[str] = frozenset()) -> Work:
    """The task with that number: always the same for a seed, whatever happened before."""
    dice = Random(f"{seed}/task/{number}")
    shapes = {name: share for name, (_, _, share) in SHAPES.items() if name not in without}
    shape = dice.choices(list(shapes), list(shapes.values()))[0]
    profile, grace, _ = SHAPES[shape]
    size = min(nodes, dice.choice((1, 1, 1, 2, 2, 3, nodes)))
    seconds = dice.choice((0.1, 0.25))
    steps = max(1, round(dice.uniform(1.0, 5.0) / seconds))
    name = f"t{number:06d}"
    words = ("python", str(Path(rank.__file__)), str(home / "records"), name, shape, str(steps), str(seconds))
    request = TaskRequest(
        name=name,
        command=words,
        cwd=str(home),
        nodes=size,
        priority=dice.choice(PRIORITIES),
        profile=profile,
        grace_s=grace,
        # A command that a strike kills has failed; it is started again, so that every task must succeed in the end.
        retries=100,
    )
    return Work(name, dice.choice(USERS), request)


class Load:
    """Threads that submit tasks, so that about `unfinished` tasks wait or run at any time."""

    def __init__(self, platform: Platform, seed: int, unfinished: int, without: frozenset[str] = frozenset()) -> None:
        self._platform, self._seed, self._unfinished, self._without = platform, seed, unfinished, without
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._accepting = threading.Condition()
        self._threads = [threading.Thread(target=self._send, args=(n,), daemon=True) for n in range(SENDERS)]
        self.sent: set[str] = set()
        self.accepted: dict[str, int] = {}
        self.strange: list[Strange] = []
        #: Tries of a submission that got no answer.
        self.unanswered = 0
        #: Returns how many tasks have ended, as far as is known.
        self.ended: Callable[[], int] = lambda: 0

    def start(self) -> None:
        """Begin to submit."""
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """Begin no new submission, and wait until those under way are accepted."""
        self._stopped.set()
        ends = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, ends - time.monotonic()))

    def next_accepted(self, seconds: float) -> bool:
        """Wait for the next submission to be accepted; returns whether one was."""
        with self._accepting:
            return self._accepting.wait(seconds)

    def _send(self, turn: int) -> None:
        while not self._stopped.is_set():
            if len(self.accepted) - self.ended() >= self._unfinished:
                self._stopped.wait(0.1)
                continue
            with self._lock:
                number = next(self._numbers)
            self._submit(work(self._seed, number, self._platform.nodes, self._platform.home, self._without), turn)

    def _submit(self, work: Work, turn: int) -> None:
        self.sent.add(work.name)
        for again in itertools.count(turn):
            try:
                task = self._platform.client(work.user, again).submit(work.request, idempotency_key=work.name)
            except Unavailable:
                self.unanswered += 1
            except HaiError as error:
                self.strange.append(Strange(time.time(), f"submit {work.name}", repr(error)))
            else:
                with self._accepting:
                    self.accepted[work.name] = task.id
                    self._accepting.notify_all()
                return
            time.sleep(AGAIN_S)
