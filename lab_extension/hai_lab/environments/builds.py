"""The commands that change environments: one at a time for each environment, with their output."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from hai_lab.environments import program
from hai_lab.environments.actions import EnvironmentAction
from hai_lab.problem import Problem

#: Lines of one build that are kept, characters of a line, builds at once, and ended ones that are kept.
MOST_LINES: Final = 5000
LONGEST_LINE: Final = 2000
AT_ONCE: Final = 4
KEPT: Final = 20
#: Time between "stop" and "at once", seconds.
PATIENCE_S: Final = 10.0


@dataclass
class Build:
    """One command, running or ended."""

    id: int  #: Its number in this server.
    action: EnvironmentAction  #: What it does.
    process: asyncio.subprocess.Process  #: The command.
    #: The last lines of its output, each with its number from 1.
    lines: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=MOST_LINES))
    count: int = 0  #: Lines so far, with those that are not kept.
    status: int | None = None  #: Its exit status; None while it runs. Negative: the signal that ended it.
    stopped: bool = False  #: Whether the user has stopped it.
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def document(self) -> dict[str, Any]:
        """Return what the browser is told."""
        return {
            "id": self.id,
            "verb": self.action.verb,
            "environment": self.action.environment,
            "state": self.state,
            "status": self.status,
            "last": self.lines[-1][1] if self.lines else "",
        }

    @property
    def state(self) -> str:
        """`running`, `done`, `stopped` or `failed`."""
        if self.status is None:
            return "running"
        if self.status == 0:
            return "done"
        return "stopped" if self.stopped else "failed"

    def add(self, text: str) -> None:
        """Add a line of output."""
        self.count += 1
        self.lines.append((self.count, text[:LONGEST_LINE]))
        self.changed()

    def changed(self) -> None:
        """Wake those who follow."""
        self._changed.set()
        self._changed = asyncio.Event()

    def wait(self) -> Coroutine[Any, Any, Any]:
        """Return what waits for the next change after this call, not after the first `await`."""
        return self._changed.wait()


class Builds:
    """The builds of this server.

    Args:
        active: Called at each line of output: the server is not idle while it builds.
    """

    def __init__(self, active: Callable[[], None]) -> None:
        self._active = active
        self._numbers = itertools.count(1)
        self._builds: dict[int, Build] = {}
        self._starting: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def get(self, number: int) -> Build:
        """Return a build. Raises Problem if it is not known."""
        found = self._builds.get(number)
        if found is None:
            raise Problem(
                404, "not_found", "Not found", f"There is no build {number} in this server; it may be too old."
            )
        return found

    def documents(self) -> list[dict[str, Any]]:
        """Return all builds that are known, the newest first."""
        return [one.document() for one in reversed(self._builds.values())]

    @property
    def running(self) -> list[Build]:
        """The builds that run."""
        return [one for one in self._builds.values() if one.status is None]

    async def begin(self, action: EnvironmentAction) -> Build:
        """Start an action.

        Raises:
            Problem: The environment is being changed already, too many builds run, or haienv cannot be started.
        """
        self._refuse(action)
        self._starting.add(action.environment)
        try:
            process = await program.start(action.arguments, stderr=asyncio.subprocess.STDOUT)
        finally:
            self._starting.discard(action.environment)
        build = Build(next(self._numbers), action, process)
        self._builds[build.id] = build
        self._forget()
        self._keep(self._follow(build))
        return build

    def _refuse(self, action: EnvironmentAction) -> None:
        busy = self.running
        if action.environment in self._starting:
            raise _conflict(f"{action.environment} is being changed already; wait until that has ended.")
        for one in busy:
            if one.action.environment == action.environment:
                raise _conflict(
                    f"{action.environment} is being changed already, by {one.action.verb} (build {one.id}); "
                    "wait until that has ended, or stop it."
                )
        if len(busy) + len(self._starting) >= AT_ONCE:
            raise _conflict(f"{AT_ONCE} builds run in this server already; wait until one has ended, or stop it.")

    def stop(self, build: Build) -> None:
        """Stop a build: nothing changes then. Does nothing if it has ended."""
        if build.status is None and not build.stopped:
            build.stopped = True
            program.end(build.process, signal.SIGINT)
            self._keep(self._insist(build))

    def close(self) -> None:
        """End all builds at once: the server ends."""
        for one in self.running:
            program.end(one.process, signal.SIGINT)

    def _keep(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, build: Build) -> None:
        """Read the output of a build up to its end."""
        stream = build.process.stdout
        assert stream is not None
        rest = b""
        while piece := await stream.read(65536):
            self._active()
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                build.add(_text(line))
            if len(rest) > LONGEST_LINE:
                build.add(_text(rest))
                rest = b""
        if rest:
            build.add(_text(rest))
        build.status = await build.process.wait()
        build.changed()

    async def _insist(self, build: Build) -> None:
        await asyncio.sleep(PATIENCE_S)
        if build.status is None:
            program.end(build.process, signal.SIGKILL)

    def _forget(self) -> None:
        ended = [one.id for one in self._builds.values() if one.status is not None]
        for number in ended[: max(0, len(ended) - KEPT)]:
            del self._builds[number]


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r").removeprefix("haienv: ")


def _conflict(detail: str) -> Problem:
    return Problem(409, "conflict", "Conflict", detail)
