"""Carries out the order of a trace: tells the processes that ask, and waits for what they write."""
# ruff: noqa: PTH108, PTH118, PTH123, PTH202, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import time

from hai_client.linux.identity import acting_as
from hai_client.linux.processes import descendants, read_arguments, read_process, read_table
from hai_client.rank.profiling import kineto
from hai_client.rank.profiling.sending import CannotSend, TraceSender

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.rank.profiling.door import RecordingDoor

#: Processes of a rank that are recorded.
MOST_PROCESSES = 16
#: How long after the beginning a process may still ask for the first time, seconds.
LATE_S = 6.0
#: Kineto drops an order without a word when its thread comes to its turn too late. A process that was told, has written
#: no trace and says that it records nothing has dropped its order, and is told again. An order that begins at once
#: takes this long to begin; how much later a process has dropped it; and how often a process is told. Seconds.
BEGUN_WITHIN_S = 4.0
DROPPED_AFTER_S = 1.5
MOST_TELLS = 3
#: How long after the end of a trace it may take to write it, and how long steps may take, seconds.
WRITTEN_WITHIN_S = 60.0
STEPS_WITHIN_S = 120.0
#: A file is whole when it has not grown for so long, seconds.
QUIET_S = 0.5
LOOK_EVERY_S = 0.25
NAME = 200
LIBRARY = b"libtorch_cpu.so"


class TraceJob:
    """One trace of the processes of a rank. `step` and `config` are called by the main loop, `send` by a thread.

    Args:
        order: The order, as the service has sent it.
        door: Where processes ask.
        account: The account of the job.
    """

    def __init__(self, order: dict[str, Any], door: RecordingDoor, account: Account | None) -> None:
        self.number = int(order["id"])
        self._starts = float(order["starts_ms"]) / 1000
        self._seconds = float(order["seconds"])
        self._steps = None if order.get("steps") is None else int(order["steps"])
        self._memory = bool(order.get("memory"))
        self.most_bytes = int(order["most_bytes"])
        self._door = door
        self._account = account
        #: The place of each process that was told.
        self._told: dict[int, int] = {}
        #: How often each process was told, and when it was last, Unix time in seconds.
        self._tells: dict[int, tuple[int, float]] = {}
        self._sizes: dict[str, tuple[int, float]] = {}
        self._whole: dict[int, str] = {}
        self._next_look = 0.0

    @property
    def _ends(self) -> float:
        return self._starts + (self._seconds if self._steps is None else STEPS_WITHIN_S)

    def config(self, pid: int) -> str:
        """Return what a process is told that asks now, and records nothing; empty: nothing."""
        now = time.time()
        if pid in self._told:
            if not self._has_dropped(pid, now):
                return ""
        elif len(self._told) >= MOST_PROCESSES or now > self._starts + LATE_S:
            return ""
        tells = self._tells.get(pid, (0, now))[0]
        self._tells[pid] = (tells + 1, now)
        place = self._told.setdefault(pid, len(self._told))
        late = self._steps is None and now > self._starts - 1.0
        seconds = self._seconds
        if late and not tells:
            # One that asks late begins at once, and ends with the others as well as it can.
            seconds = max(0.5, self._starts + self._seconds - now)
        return kineto.configuration(
            os.path.join(self._door.spool, f"{self._prefix(place)}.json"),
            starts_ms=0 if late else round(self._starts * 1000),
            seconds=seconds,
            steps=self._steps,
            memory=self._memory,
        )

    def _has_dropped(self, pid: int, now: float) -> bool:
        """Return whether a process that records nothing was told and has not done it."""
        tells, last = self._tells[pid]
        if tells >= MOST_TELLS or now <= max(self._starts, last + BEGUN_WITHIN_S) + DROPPED_AFTER_S:
            return False
        place = self._told[pid]
        return place not in self._whole and not any(self._is_of(place, name) for name in self._written())

    def step(self, now: float) -> bool:
        """Look whether the traces are there; return whether there is nothing more to wait for."""
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_EVERY_S
        clock = time.time()
        if not self._told:
            return clock > self._starts + LATE_S
        if clock < self._starts:
            return False
        self._look(now)
        waiting = [pid for pid, place in self._told.items() if place not in self._whole and _alive(pid)]
        return not waiting or clock > self._ends + WRITTEN_WITHIN_S

    def send(self, sender: TraceSender) -> dict[str, Any]:
        """Send what was written, and return the report of the end."""
        if not self._told:
            return {"state": "failed", "message": self._why_nobody()}
        sent: list[tuple[bool, dict[str, Any]]] = []
        problem: str | None = None
        for pid, place in self._told.items():
            path = self._whole.get(place)
            if path is None:
                continue
            trace = {"number": place, "pid": pid, "name": " ".join(read_arguments(pid))[:NAME] or "it has ended"}
            try:
                sent.append((sender.send(path, place), trace))
            except CannotSend as error:
                problem = f"process {pid}: {error}"
        self.clear()
        # Helpers such as data loaders have PyTorch too, and compute nothing with it.
        useful = [trace for computed, trace in sent if computed] or [trace for _, trace in sent]
        if useful:
            return {"state": "done", "message": problem, "traces": useful}
        return {"state": "failed", "message": problem or self._why_nothing()}

    def clear(self) -> None:
        """Remove what was written."""
        with contextlib.suppress(OSError), acting_as(self._account):
            for name in os.listdir(self._door.spool):
                if name.startswith(f"trace-{self.number}-"):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(self._door.spool, name))

    def _prefix(self, place: int) -> str:
        return f"trace-{self.number}-{place}"

    def _look(self, now: float) -> None:
        """Find the files that have not grown for a while."""
        names = self._written()
        for place in self._told.values():
            if place in self._whole:
                continue
            for name in names:
                if not self._is_of(place, name):
                    continue
                path = os.path.join(self._door.spool, name)
                try:
                    with acting_as(self._account):
                        size = os.path.getsize(path)
                except OSError:
                    continue
                before, since = self._sizes.get(path, (-1, now))
                if size != before:
                    self._sizes[path] = (size, now)
                elif size and now - since >= QUIET_S:
                    self._whole[place] = path

    def _written(self) -> list[str]:
        """Return the names of the files in the folder of traces."""
        try:
            with acting_as(self._account):
                return os.listdir(self._door.spool)
        except OSError:
            return []

    def _is_of(self, place: int, name: str) -> bool:
        """Return whether a file is the trace of a process."""
        # Kineto puts the pid behind the name: trace-3-0_4711.json; while it writes it has another end.
        prefix = self._prefix(place)
        return name.startswith((f"{prefix}.", f"{prefix}_")) and name.endswith(".json")

    def _why_nobody(self) -> str:
        if self._door.fd < 0:
            return (
                "this rank has no socket for recordings: its task sets KINETO_USE_DAEMON itself, or the folder of the "
                "run is not writable"
            )
        table = read_table()
        pids = [pid for pid in descendants(table, (os.getpid(),)) if not table[pid].zombie]
        loaded = [pid for pid in pids if _has_torch(pid)]
        if not loaded:
            return "no process of this rank has PyTorch loaded: only PyTorch can be recorded, and only after its import"
        return (
            f"process {loaded[0]} has PyTorch loaded but does not ask for recordings: it was started without the "
            "variables of the platform, its PyTorch is too old or built without kineto, or it was imported seconds ago"
        )

    def _why_nothing(self) -> str:
        if not any(_alive(pid) for pid in self._told):
            return "the processes have ended before their traces were written"
        if self._steps is not None:
            return (
                f"no trace was written: {self._steps} steps of an optimizer have not ended in {STEPS_WITHIN_S:g} s: "
                "record fewer steps, or seconds"
            )
        return "no trace was written: does the script use torch.profiler itself at the moment? One recording at a time"


def _alive(pid: int) -> bool:
    process = read_process(pid)
    return process is not None and not process.zombie


def _has_torch(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return any(LIBRARY in line for line in file)
    except OSError:
        return False
