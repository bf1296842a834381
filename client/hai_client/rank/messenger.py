"""Bringing a notice to the job: the file that it can read, and the signal to its workers."""
# ruff: noqa: PTH118, PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import json
import os
import signal

from hai_client.rank.identity import acting_as
from hai_client.rank.processes import Process, read_process, read_table, send
from hai_client.rank.safefile import SafeFile
from hai_client.rank.times import rfc3339
from hai_client.rank.workers import workers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hai_client.rank.identity import Account
    from hai_client.rank.logs import LogWriter
    from hai_client.rank.spec import Spec

SIGNALS = {"sigterm": signal.SIGTERM, "slurm": signal.SIGUSR1}
LATE_EVERY_S = 0.25


class Messenger:
    """Tells the job once that it must leave; extensions change the file only."""

    def __init__(self, spec: Spec, log: LogWriter, account: Account | None = None) -> None:
        self._signal = SIGNALS.get(spec.profile)
        self._log = log
        self._folder = spec.folder
        #: Whose folder it is that the notice is put into.
        self._account = account
        self._file = SafeFile(os.path.join(spec.runtime, "notice.json"))
        with contextlib.suppress(OSError), acting_as(account):
            self._file.reserve()
        #: Start times of those who were told, by pid; None before anybody was.
        self._told: dict[int, int] | None = None
        self._main = 0
        self._next_late = 0.0

    @property
    def signals(self) -> bool:
        """Whether a notice comes with a signal."""
        return self._signal is not None

    def write(self, notice: dict[str, Any]) -> None:
        """Put the notice where the job looks for it."""
        with acting_as(self._account):
            written = self._file.write(json.dumps({"schema": 1, **notice}).encode())
        if not written:
            self._log.say("the notice to leave could not be written: no space left; the signal is sent all the same")

    def received(self, notice: dict[str, Any]) -> dict[str, Any]:
        """The report that it arrived."""
        return {"kind": "received", "at": rfc3339(), "revision": notice["revision"]}

    def tell_workers(self, main: int) -> None:
        """Send the profile's signal to the workers, the first time."""
        if self._told is not None or self._signal is None:
            return
        self._told = {}
        self._main = main
        table = read_table()
        # Orphans that changed their session are children of this process.
        roots = [main, *(p.pid for p in table.values() if p.parent == os.getpid() and p.pid != main)]
        found = workers_of(table, roots)
        for pid in found.top:
            self._tell(table[pid])

    def tell_late_workers(self, now: float) -> None:
        """Signal workers that an agent has started since, each once: it was still starting up, or restarts them."""
        if self._told is None or self._signal is None or now < self._next_late:
            return
        self._next_late = now + LATE_EVERY_S
        table = read_table()
        for pid in workers_of(table, [self._main]).under_agent:
            if self._told.get(pid) != table[pid].start:
                self._tell(table[pid])

    def _tell(self, worker: Process) -> None:
        if self._told is not None and self._signal is not None:
            self._told[worker.pid] = worker.start
            send(worker.pid, self._signal)

    def somebody_saves(self) -> bool:
        """Whether a worker that was told to leave is still there."""
        for pid, start in (self._told or {}).items():
            process = read_process(pid)
            if process is not None and process.start == start and not process.zombie:
                return True
        return False

    def remember(self, alive: list[Process]) -> None:
        """Keep a list of the rank's processes, for whoever must clean up after this process."""
        lines = "".join(f"{process.pid} {process.start}\n" for process in alive)
        with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            SafeFile(os.path.join(self._folder, "processes")).write((boot.read() + lines).encode())
