"""Parts that go on beside each other: none fails unseen, none is left running, and what each said is shown whole."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

#: The status of a part that cannot be done on this machine. The last line that it wrote says why.
SKIPPED = 77


@dataclass(frozen=True)
class Part:
    """One line of the table."""

    name: str  #: Its file of output is `NAME.log`, if it goes on beside others.
    command: Sequence[str]  #: The words of its command.
    after: Sequence[str] = ()  #: Parts that have ended before it begins. It does not begin if one of them has failed.
    #: Whether its output goes to a file, which is shown when it has ended. What a part writes that is not beside others
    #: is seen at once.
    beside: bool = False
    needs: Sequence[str] = ()  #: Things of the machine (`machine.THINGS`) without which it is skipped.
    uses: Sequence[str] = ()  #: Things without which it leaves tests out by itself.
    nice: int = 0  #: How far it gives way to what runs at the same time.


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    began: float
    took: float = 0.0


class Run:
    """One run of a table.

    Args:
        parts: The table, in an order in which each stands behind those that it comes after.
        logs: The folder for the outputs.
        lacks: The sentence on what the machine lacks of a thing, with the remedy; None if it is there.
        tidy_up_s: Seconds that an interrupted part gets to clean up.
    """

    def __init__(
        self, parts: Sequence[Part], logs: Path, lacks: Callable[[str], str | None], tidy_up_s: float = 120.0
    ) -> None:
        self._parts = {part.name: part for part in parts}
        self._logs, self._lacks, self._tidy_up_s = logs, lacks, tidy_up_s
        self._running: dict[str, _Running] = {}
        #: 0 for a part that has passed or was skipped.
        self._status: dict[str, int] = {}
        self._ends: queue.SimpleQueue[str] = queue.SimpleQueue()
        #: Parts that have ended with what is said of their end: their output is still to be shown.
        self._unshown: list[tuple[str, str]] = []
        self._unproven: list[str] = []

    def go(self) -> int:
        """Do all parts; the first one that fails where others wait for it ends the run.

        Returns:
            0 if none has failed; else the status of the one whose output is seen at once, and 1 for another.
        """
        try:
            while (status := self._begin()) is None:
                status = self._end(self._ends.get())
                if status:
                    return status
            return status
        finally:
            self._interrupt()
            if self._unproven:
                say("== not proven on this machine", *self._unproven)

    def _begin(self) -> int | None:
        """Begin all that can; return the status of the run if nothing is left to wait for."""
        for part in self._parts.values():
            if part.name in self._status or part.name in self._running:
                continue
            if any(self._status.get(name, 0) for name in part.after):
                if not part.beside:
                    self._show()
                    return 1
                self._status[part.name] = 1
                say(f"== {part.name} did not begin, as what it comes after has failed")
            elif all(name in self._status for name in part.after):
                self._start(part)
        if self._running:
            return None
        self._show()
        return int(any(self._status.values()))

    def _start(self, part: Part) -> None:
        missing = [why for thing in part.needs if (why := self._lacks(thing))]
        if missing:
            say(self._skip(part, "; ".join(missing)))
            return
        words = [*(["nice", "-n", str(part.nice)] if part.nice else []), *part.command]
        if part.beside:
            self._logs.mkdir(parents=True, exist_ok=True)
            with self._log(part.name).open("wb") as log:
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                )
        else:
            self._show()
            say(f"== {part.name}")
            # A session of its own, too: whatever ends this program, all that it has started is interrupted alike.
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
        self._running[part.name] = running = _Running(process, time.monotonic())

        def wait() -> None:
            process.wait()
            running.took = time.monotonic() - running.began
            self._ends.put(part.name)

        threading.Thread(target=wait, daemon=True).start()

    def _end(self, name: str) -> int:
        """Note that a part has ended; return what the run ends with at once, 0 to go on."""
        part, running = self._parts[name], self._running.pop(name)
        status = running.process.returncode
        # As a shell has it.
        status = 128 - status if status < 0 else status
        took = f"after {int(running.took) // 60} min {int(running.took) % 60:02} s"
        verdict = f"== {name} {'FAILED (status ' + str(status) + ')' if status else 'passed'} {took}"
        if status == SKIPPED and part.beside:
            status, verdict = 0, self._skip(part, _last_line(self._log(name)))
        elif not status:
            self._unproven += [f"{name}: in part, {why}" for thing in part.uses if (why := self._lacks(thing))]
        self._status[name] = status
        if part.beside:
            self._unshown.append((name, verdict))
            if all(self._parts[other].beside for other in self._running):
                self._show()
            return 0
        say(verdict)
        return status

    def _skip(self, part: Part, why: str) -> str:
        self._status[part.name] = 0
        self._unproven.append(f"{part.name}: skipped, {why}")
        return f"== {part.name} skipped, {why}"

    def _show(self) -> None:
        """Show what has ended beside others."""
        for name, verdict in self._unshown:
            say(f"== {name}, which ran beside the others")
            self._print(name)
            say(verdict)
        self._unshown.clear()

    def _interrupt(self) -> None:
        """Interrupt what has not ended, as by Ctrl-C, and show it when it has cleaned up, or was killed."""
        self._show()
        ends = time.monotonic() + self._tidy_up_s
        for running in self._running.values():
            with suppress(ProcessLookupError):
                os.killpg(running.process.pid, signal.SIGINT)
        for name, running in self._running.items():
            while _is_group(running.process.pid) and time.monotonic() < ends:
                time.sleep(0.2)
            with suppress(ProcessLookupError):
                os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait()
            if self._parts[name].beside:
                say(f"== {name}, which ran beside the others and was not waited for")
                self._print(name)
        self._running.clear()

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _print(self, name: str) -> None:
        with self._log(name).open("rb") as log:
            shutil.copyfileobj(log, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def only(parts: Sequence[Part], names: Collection[str]) -> list[Part]:
    """Some of the parts: each comes after those that it came after before, also by way of others."""
    before: dict[str, set[str]] = {}
    for part in parts:
        before[part.name] = set(part.after).union(*(before[name] for name in part.after))
    return [replace(part, after=sorted(before[part.name] & set(names))) for part in parts if part.name in names]


def finish() -> None:
    """Hear no signal any more that asks for the end: what is begun now is cleaning up."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)


def call(words: Sequence[object], **options: Any) -> int:
    """The status of a command. If this program is interrupted, so is the command, whose end is waited for."""
    process = subprocess.Popen(list(map(str, words)), **options)
    try:
        return process.wait()
    finally:
        process.wait()


def say(*lines: str) -> None:
    """Print lines at once: what is started writes to the same place."""
    print(*lines, sep="\n", flush=True)


def _last_line(log: Path) -> str:
    return (log.read_text(errors="replace").strip().splitlines() or ["it did not say why"])[-1]


def _is_group(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
