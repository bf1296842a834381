"""The strikes: each is a function that harms the platform, with its share among all strikes.

A strike calls `field.struck()` at the moment from which recovery counts, and mends what it has stopped itself; what has
died is started again by the platform, or by `Platform.tend`. The run waits for health after each strike.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from chaos.load import Load
from chaos.platforms.base import ENDS_S, Platform
from chaos.platforms.replicas import Replica, Replicas
from chaos.processes import Process, children, send
from kit.disks import fill

#: All processes that a power cut ends; those that would start others again come first.
ALL_ROLES = ("up", "hub", "loop", "api", "supervisor", "command")
#: What a strike at the scheduler service may hit: either of its processes, or both.
SERVICES = (("loop",), ("api",), ("loop", "api"))
#: Seconds for a submission, a leader or a new process that a strike waits for.
AWAITED_S = 20.0
#: The strike that needs a platform with a disk of its own.
DISK_FULL = "disk full"
#: Signal 0 only asks whether a process is there.
_ASK = 0


@dataclass
class Field:
    """The platform, the load and the dice that a strike may use, and what is recorded of the strike."""

    platform: Platform
    load: Load
    dice: Random
    #: Set when the run is to end: it ends every pause.
    stopped: threading.Event
    #: When the strike began, seconds since the epoch.
    at: float = field(default_factory=time.time)
    #: How many processes the strike has hit.
    hits: int = 0
    #: A good answer to a question asked before this time does not show that the platform has recovered.
    gone: float = 0.0

    def struck(self) -> None:
        """Record that the strike has hit: recovery counts from now on."""
        self.at = self.gone = time.time()

    def end(self, *processes: Process) -> None:
        """Tell processes to end, and wait until they have ended: until then they may still answer."""
        self.struck()
        for process in processes:
            self.hits += send(process.pid, signal.SIGTERM)
        ends = time.monotonic() + ENDS_S
        while any(send(process.pid, _ASK) for process in processes) and time.monotonic() < ends:
            time.sleep(0.05)
        self.gone = time.time()

    def pause(self, least: float, most: float) -> None:
        """Wait for a time from that range, seconds, or until the run is to end."""
        self.stopped.wait(self.dice.uniform(least, most))

    def kill(self, *roles: str, most: int | None = None) -> list[Process]:
        """Kill all processes of `roles`, or at most `most` of them; returns the processes that were killed."""
        found = self.platform.processes(*roles)
        if most is not None:
            found = self.dice.sample(found, min(most, len(found)))
        self.struck()
        killed = [process for process in sorted(found, key=_order) if send(process.pid, signal.SIGKILL)]
        self.hits += len(killed)
        return killed

    @contextmanager
    def stop(self, *pids: int) -> Iterator[None]:
        """A context in which processes are stopped; they always go on at its end."""
        self.struck()
        for pid in pids:
            self.hits += send(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                send(pid, signal.SIGCONT)

    def service(self) -> tuple[str, ...]:
        """Choose which processes of the scheduler service are hit; returns their roles."""
        return self.dice.choice(SERVICES)

    def after_a_submission(self) -> None:
        """Wait until a submission was accepted, and up to 0.8 s more."""
        self.load.next_accepted(AWAITED_S)
        self.pause(0.0, 0.8)


def _order(process: Process) -> int:
    return ALL_ROLES.index(process.role) if process.role in ALL_ROLES else len(ALL_ROLES)


Do = Callable[[Field], None]


@dataclass(frozen=True)
class Strike:
    """One way to harm a platform."""

    name: str
    #: The kinds of platform that it is for.
    on: frozenset[str]
    #: How often the strike is in the pack of cards from which strikes are dealt.
    share: int
    do: Do


STRIKES: list[Strike] = []
UP = ("sqlite",)
TWO = ("postgres",)


def strike(name: str, *, on: tuple[str, ...] = UP + TWO, share: int = 1) -> Callable[[Do], Do]:
    """Register a function as a strike."""

    def add(do: Do) -> Do:
        STRIKES.append(Strike(name, frozenset(on), share, do))
        return do

    return add


def deal(kind: str, seed: int, without: frozenset[str] = frozenset()) -> Iterator[tuple[Strike, Random]]:
    """Yield strikes for that kind of platform without end, each with its dice; the seed fixes all of them."""
    pack = [
        strike for strike in STRIKES if kind in strike.on and strike.name not in without for _ in range(strike.share)
    ]
    if not pack:
        raise SystemExit(f"--without: no strike is left for {kind}")
    number = 0
    while True:
        dealt = list(pack)
        Random(f"{seed}/pack/{number}").shuffle(dealt)
        for strike in dealt:
            number += 1
            yield strike, Random(f"{seed}/strike/{number}")


# -- ranks ---------------------------------------------------------------------------------------------


@strike("supervisor killed", share=5)
def kill_supervisors(field: Field) -> None:
    field.kill("supervisor", most=field.dice.choice((1, 1, 2, 3)))


@strike("command killed", share=3)
def kill_commands(field: Field) -> None:
    field.kill("command", most=field.dice.choice((1, 1, 2)))


@strike("supervisor and service killed")
def kill_supervisor_and_service(field: Field) -> None:
    field.kill("supervisor", most=1)
    field.kill(field.dice.choice(("loop", "api")), most=1)


# -- one machine -----------------------------------------------------------------------------------------


@strike("service killed", on=UP, share=5)
def kill_service(field: Field) -> None:
    field.kill(*field.service())


@strike("service killed after a submission", on=UP, share=6)
def kill_service_after_a_submission(field: Field) -> None:
    field.after_a_submission()
    field.kill(*field.service())


@strike("service killed while it starts", on=UP, share=3)
def kill_service_while_it_starts(field: Field) -> None:
    roles = field.service()
    field.kill(*roles)
    for _ in range(field.dice.randint(1, 4)):
        ends = time.monotonic() + AWAITED_S
        while not field.platform.processes(*roles) and time.monotonic() < ends and not field.stopped.is_set():
            time.sleep(0.05)
        field.pause(0.0, 1.5)
        field.kill(*roles)


@strike("service told to end", on=UP)
def end_service(field: Field) -> None:
    field.end(*field.platform.processes(*field.service()))


@strike("service stopped for a while", on=UP, share=2)
def stop_service(field: Field) -> None:
    with field.stop(*(process.pid for process in field.platform.processes(*field.service()))):
        field.pause(1.0, 12.0)


@strike("service stopped, then killed", on=UP)
def stop_and_kill_service(field: Field) -> None:
    roles = field.service()
    with field.stop(*(process.pid for process in field.platform.processes(*roles))):
        field.pause(1.0, 8.0)
        field.kill(*roles)


@strike("Hub killed", on=UP, share=2)
def kill_hub(field: Field) -> None:
    field.kill("hub")


@strike("Hub stopped for a while", on=UP)
def stop_hub(field: Field) -> None:
    with field.stop(*(process.pid for process in field.platform.processes("hub"))):
        field.pause(1.0, 8.0)


@strike("hai up killed", on=UP, share=2)
def kill_up(field: Field) -> None:
    field.kill("up")


@strike("hai up told to end", on=UP)
def end_up(field: Field) -> None:
    field.end(*field.platform.processes("up"))


@strike("hai up killed while it starts", on=UP)
def kill_up_while_it_starts(field: Field) -> None:
    for _ in range(2):
        before = {process.pid for process in field.kill("up")}
        ends = time.monotonic() + AWAITED_S
        while time.monotonic() < ends and not field.stopped.is_set():
            if {process.pid for process in field.platform.processes("up")} - before:
                break
            time.sleep(0.05)
        field.pause(0.0, 6.0)
    field.kill("up")


@strike("power cut", on=UP)
def cut_power(field: Field) -> None:
    for _ in range(2):  # processes that were being started while the first were killed
        field.kill(*ALL_ROLES)


@strike(DISK_FULL, on=UP, share=2)
def fill_disk(field: Field) -> None:
    disk = field.platform.disk
    assert disk is not None
    filler = disk / "filler"
    fill(filler)
    field.struck()
    field.hits += 1
    try:
        field.pause(2.0, 10.0)
    finally:
        filler.unlink()


# -- two replicas ------------------------------------------------------------------------------------------


def _two(field: Field) -> Replicas:
    assert isinstance(field.platform, Replicas)
    return field.platform


def _role(field: Field, *, leads: bool) -> Replica | None:
    """The leader or the follower, as soon as there is one."""
    ends = time.monotonic() + AWAITED_S
    while time.monotonic() < ends and not field.stopped.is_set():
        found = _two(field).roles()[0 if leads else 1]
        if found is not None:
            return found
        time.sleep(0.1)
    return None


def _signal(field: Field, replica: Replica | None, how: signal.Signals) -> None:
    field.struck()
    if replica is not None and replica.process is not None:
        field.hits += send(replica.process.pid, how)


@strike("leader killed", on=TWO, share=5)
def kill_leader(field: Field) -> None:
    _signal(field, _role(field, leads=True), signal.SIGKILL)


@strike("leader killed after a submission", on=TWO, share=4)
def kill_leader_after_a_submission(field: Field) -> None:
    leader = _role(field, leads=True)
    field.after_a_submission()
    _signal(field, leader, signal.SIGKILL)


@strike("follower killed", on=TWO, share=2)
def kill_follower(field: Field) -> None:
    _signal(field, _role(field, leads=False), signal.SIGKILL)


@strike("both killed", on=TWO, share=2)
def kill_both(field: Field) -> None:
    field.kill("loop", "api")


@strike("leader told to end", on=TWO, share=2)
def end_leader(field: Field) -> None:
    leader = _role(field, leads=True)
    pid = None if leader is None or leader.process is None else leader.process.pid
    field.end(*(process for process in field.platform.processes("loop") if process.pid == pid))


@strike("leader stopped for a while", on=TWO, share=4)
def stop_leader(field: Field) -> None:
    leader = _role(field, leads=True)
    field.after_a_submission()
    if leader is not None and leader.process is not None:
        with field.stop(leader.process.pid):
            field.pause(8.0, 40.0)


@strike("PostgreSQL stopped at once", on=TWO, share=3)
def stop_postgres(field: Field) -> None:
    field.struck()
    _two(field).postgres.stop(signal.SIGQUIT)
    field.hits += 1
    try:
        field.pause(0.0, 6.0)
    finally:
        _two(field).postgres.start()


@strike("PostgreSQL read-only for a while", on=TWO, share=2)
def refuse_changes(field: Field) -> None:
    field.struck()
    _two(field).postgres.read_only(True)
    field.hits += 1
    try:
        field.pause(2.0, 15.0)
    finally:
        _two(field).postgres.read_only(False)


@strike("PostgreSQL stopped for a while", on=TWO)
def pause_postgres(field: Field) -> None:
    pid = _two(field).postgres.pid
    if pid is not None:
        with field.stop(pid, *children(pid)):
            field.pause(5.0, 25.0)


@strike("Redis killed", on=TWO)
def kill_redis(field: Field) -> None:
    field.struck()
    _two(field).redis.kill()
    field.hits += 1
    try:
        field.pause(0.0, 6.0)
    finally:
        _two(field).redis.start()


@strike("Redis stopped for a while", on=TWO)
def pause_redis(field: Field) -> None:
    field.struck()
    _two(field).redis.send(signal.SIGSTOP)
    field.hits += 1
    try:
        field.pause(5.0, 30.0)
    finally:
        _two(field).redis.send(signal.SIGCONT)


@strike("power cut everywhere", on=TWO)
def cut_power_everywhere(field: Field) -> None:
    two = _two(field)
    two.postgres.stop(signal.SIGQUIT)
    two.redis.kill()
    for _ in range(2):
        field.kill(*ALL_ROLES)
    two.postgres.start()
    two.redis.start()
