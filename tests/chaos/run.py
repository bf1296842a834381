"""One chaos run: start, strike, wait, let everything end, ask, judge."""

from __future__ import annotations

import bisect
import os
import threading
import time
from collections.abc import Iterator

from chaos.clients import LAST, Clients
from chaos.invariants import judge
from chaos.load import Load
from chaos.platforms.base import Platform
from chaos.records import Records, numbers, own_lines, seen, stories
from chaos.report import Outcome, Struck
from chaos.strikes import DISK_FULL, Field, deal
from hai_client.errors import HaiError
from hai_client.wire.schema import Event

#: Seconds after which a platform that is not healthy again counts as stuck.
STUCK_S = 180.0
#: Seconds that tasks have to end after the last strike, for each that was unfinished, and at least.
DRAIN_EACH_S, DRAIN_S = 10.0, 240.0
#: Seconds between a strike's recovery and the next strike; often there is none.
GAP_S = (0.0, 0.0, 1.0, 3.0, 6.0)
#: Of how many tasks the logs are read back at the end; they are chosen evenly.
LOGS = 500


class Watch:
    """A thread that asks for health all the time, and starts dead processes again."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)
        #: When each question was asked that was answered with "healthy", and when answered; seconds since the epoch.
        self._asked: list[float] = []
        self._answered: list[float] = []

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def healthy_after(self, moment: float) -> float | None:
        """The time of the first good answer to a question asked after that moment."""
        place = bisect.bisect_right(self._asked, moment)
        return self._answered[place] if place < len(self._answered) else None

    def _look(self) -> None:
        while not self._stopped.wait(0.2):
            self._platform.tend()
            asked = time.time()
            if self._platform.healthy():
                self._answered.append(time.time())
                self._asked.append(asked)


class Run:
    """A chaos run on a platform that has not been started."""

    def __init__(self, platform: Platform, kind: str, seed: int, minutes: float, without: frozenset[str]) -> None:
        self._platform, self._kind, self._seed, self._minutes = platform, kind, seed, minutes
        self._without = without if platform.disk else without | {DISK_FULL}
        #: Set when no more strikes are to come.
        self.stopped = threading.Event()
        self._records = Records()
        self._strikes: list[Struck] = []
        self._load = Load(platform, seed, unfinished=2 * platform.nodes + 2, without=without)
        self._clients = Clients(platform, self._load)
        self._load.ended = lambda: len(self._clients.ended)
        self._watch = Watch(platform)
        self._drained_s = 0.0

    def go(self) -> Outcome:
        """Do the whole run. The platform has ended when this returns or raises."""
        for name in ("ranks", "slots"):
            (self._platform.home / "records" / name).mkdir(parents=True)
        try:
            self._platform.start()
            self._watch.start()
            self._clients.start()
            self._load.start()
            interrupted = self._strike()
            self._let_all_end()
            self._ask()
            self._watch.stop()
            self._platform.end()
            self._records.left_over = [f"{process.pid} {process.line}" for process in self._platform.processes()]
        finally:
            self._clients.stop()
            self._load.stop(0.0)
            self._watch.stop()
            self._platform.end()
            self._platform.kill_all()
        return Outcome(
            on=self._kind, seed=self._seed, minutes=self._minutes, nodes=self._platform.nodes, records=self._records,
            violations=judge(self._records), strikes=self._strikes, revived=self._platform.revived,
            asked=self._clients.asked, away=self._clients.away, unanswered=self._load.unanswered,
            interrupted=interrupted, drained_s=self._drained_s,
        )  # fmt: skip

    def _strike(self) -> bool:
        """Strike until the time is up or the run is ended; returns whether it was ended."""
        ends = time.monotonic() + self._minutes * 60
        for strike, dice in deal(self._kind, self._seed, self._without):
            self.stopped.wait(min(dice.choice(GAP_S), max(0.0, ends - time.monotonic())))
            if self.stopped.is_set() or time.monotonic() >= ends:
                break
            field = Field(self._platform, self._load, dice, self.stopped)
            say(f"{max(0.0, ends - time.monotonic()):5.0f} s left: {strike.name}")
            strike.do(field)
            struck = Struck(strike.name, field.at, os.getloadavg()[0])
            struck.healthy_s = self._recovered(field, time.time())
            if field.hits:
                self._records.hit[strike.name] += 1
                self._strikes.append(struck)
            else:
                self._records.missed[strike.name] += 1
            if struck.healthy_s is None:
                self._records.stuck.append(f"not healthy {STUCK_S:.0f} s after: {strike.name}")
                break
        return self.stopped.is_set()

    def _recovered(self, field: Field, over: float) -> float | None:
        """Seconds from a strike until the platform is healthy; waits until it is healthy after the strike is over."""
        ends = time.monotonic() + STUCK_S
        while time.monotonic() < ends:
            if self._watch.healthy_after(over) is not None:
                first = self._watch.healthy_after(field.gone)
                assert first is not None
                return first - field.at
            time.sleep(0.05)
        return None

    def _let_all_end(self) -> None:
        say("no more strikes: every task must end now")
        began = time.monotonic()
        self._load.stop(STUCK_S)
        client = self._platform.client()
        ends = began + DRAIN_S + DRAIN_EACH_S * (len(self._load.accepted) - len(self._clients.ended))
        while time.monotonic() < ends:
            try:
                if not list(client.tasks(user="*", state="live", limit=1)):
                    break
            except HaiError:
                pass  # the platform is not up again yet; the watch starts it
            time.sleep(0.5)
        self._drained_s = time.monotonic() - began

    def _ask(self) -> None:
        """Read all records of the platform, after the last task has ended."""
        say("asking for everything")
        found, client = self._records, self._platform.client()
        client.cordon(client.nodes()[0].name)  # the last event, by which readers of the feed know its end
        self._clients.finish(60.0)
        self._clients.stop()
        found.tasks = [seen(client.task(task.id)) for task in client.tasks(user="*")]
        found.ranks = stories(self._platform.home / "records" / "ranks")
        found.sent, found.accepted = self._load.sent, self._load.accepted
        found.strange = [*self._load.strange, *self._clients.strange]
        found.feed, found.followed = self._clients.feed, self._clients.followed
        found.feed_afterwards = numbers(_to_the_last(client.events(after=0, user="*")))
        step = max(1, len(found.tasks) // LOGS)
        for task in found.tasks:
            for rank in range(task.nodes):
                if task.id % step == 0 or (rank == 0 and task.id in found.followed):
                    found.logs[task.id, rank] = own_lines(client.logs(task.id, rank=rank))
        for struck in self._strikes:
            place = bisect.bisect_right(decided := sorted(self._clients.decided), struck.at)
            struck.decision_s = decided[place] - struck.at if place < len(decided) else None


def _to_the_last(events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        yield event
        if event.kind == LAST:
            return


def say(text: str) -> None:
    """Print a line at once, without waiting for a full buffer."""
    print(text, flush=True)
