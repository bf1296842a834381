"""Connects the output of a launcher's tasks: to files, to pipes that are merged line by line, or to its own output."""
# ruff: noqa: PTH109
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import threading
import time

from hai_client.launching.output import Mixer, file_name, open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hai_client.launching.part import StepPart

#: Time limit for processes that tasks have left behind and that keep a pipe open, seconds.
DRAIN_S = 1.0


class Printing:
    """The output of all tasks of a part of a step."""

    def __init__(self, part: StepPart) -> None:
        self._part = part
        width = len(str(part.layout.total - 1)) if part.label else None
        self._mixers = {1: Mixer(1, width), 2: Mixer(2, width)}
        #: Descriptors of open files, by path.
        self._files: dict[str, int] = {}
        #: Pipes: the descriptor to read, the one to write to (1 or 2), and the number of the task.
        self._pipes: list[tuple[int, int, int]] = []
        self._ends: list[int] = []
        self._threads: list[threading.Thread] = []

    def of_task(self, local: int) -> tuple[int | None, int | None]:
        """Return a task's standard output and standard error; None: the launcher's own. Raises OSError."""
        part = self._part
        error = part.error or part.output
        out = self._file(part.output, local) if part.output else None
        err = self._file(error, local) if error else None
        if part.tasks == 1 and not part.label:
            return out, err
        return (self._pipe(1, local) if out is None else out), (self._pipe(2, local) if err is None else err)

    def _file(self, pattern: str, local: int) -> int:
        path = file_name(pattern, self._part.facts(local), self._part.cwd or os.getcwd())
        if path not in self._files:
            self._files[path] = open_file(path, append=self._part.append)
        return self._files[path]

    def _pipe(self, target: int, local: int) -> int:
        read_end, write_end = os.pipe()
        self._pipes.append((read_end, target, local))
        self._ends.append(write_end)
        return write_end

    def close_ends(self) -> None:
        """Close the writing ends of the pipes, which only the tasks need."""
        while self._ends:
            os.close(self._ends.pop())

    def begin(self) -> None:
        """Start to pass on the output. No process may be started after this."""
        for fd in self._files.values():
            os.close(fd)
        for read_end, target, local in self._pipes:
            number = self._part.number(local)
            thread = threading.Thread(target=self._mixers[target].read, args=(read_end, number), daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish(self) -> None:
        """Wait until all output of the tasks is passed on; processes that they left behind are not waited for."""
        end = time.monotonic() + DRAIN_S
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
