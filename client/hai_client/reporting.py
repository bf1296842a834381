"""How far a job has come, and its own numbers: `job.report` and `job.progress`."""
# The folder `progress` has a file of each process that reports, which the supervisor reads once a second
# (`hai_client.rank.records.reported`).

from __future__ import annotations

import atexit
import json
import operator
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from hai_client.constants import JOB_NUMBER_PATTERN, MAX_JOB_NUMBER, MAX_JOB_NUMBERS, MAX_STEP

_Item = TypeVar("_Item")

#: The shortest time between two writes, seconds.
EVERY_S = 1.0
#: The same of what counts if the process is killed before the next write.
LAST_EVERY_S = 0.02
#: Words of complaint of one process at most.
MOST_WORDS = 10
_NAME = re.compile(JOB_NUMBER_PATTERN)


class Reporter:
    """Keeps what a process reports, and writes the newest of it at most once a second.

    Args:
        folder: The folder for it; None: outside of tasks, where reports cost nothing and do nothing.
        number: The number of this process on its node.
        alive: Called at each report.
        clock: Seconds of a clock that never steps.
    """

    def __init__(
        self,
        folder: Path | None,
        number: int = 0,
        *,
        alive: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = None if folder is None else folder / f"{number:03d}.json"
        self._last_path = "" if folder is None else str(folder / f"{number:03d}.last")
        self._alive = alive
        self._clock = clock
        self._next = self._next_last = float("-inf")
        self._pid = 0
        self._total: int | None = None
        self._step: int | None = None
        #: Numbers that were not written yet.
        self._numbers: dict[str, float] = {}
        self._names: set[str] = set()
        self._said: set[str] = set()

    def report(self, step: int, total: int | None = None, **numbers: Any) -> None:
        """Report how far the job has come, and numbers to draw. The call is cheap enough for every step.

            job.report(step, total=10_000, loss=loss, lr=lr)
            job.report(step, **{"eval/accuracy": accuracy})

        The platform keeps one report a second, the last one. `hai list` and `hai status` show the progress and the
        time that is left; JupyterLab also draws the numbers, as `hai_client.api.Client.metrics` returns them. A report
        never ends a job: what cannot be kept is named once on stderr. Outside of the platform nothing happens.

        Args:
            step: How many steps are done, over all runs of the task.
            total: After how many steps the job is done; None: as said before, or not known.
            numbers: At most 50 names of letters, digits and `_ . / -`, 36 characters long at most. A number on a GPU is
                read once a second alone, as reading it waits for the GPU.
        """
        self._alive()
        if self._path is None:
            return
        if not _is_count(step) or not (total is None or _is_count(total)):
            self._say(f"report: step is {step!r} and total {total!r}; numbers from 0 to {MAX_STEP} are kept")
            return
        if os.getpid() != self._pid:
            self._begin()
        self._step = operator.index(step)
        if total is not None:
            self._total = operator.index(total)
        now = self._clock()
        due = now >= self._next
        for name, value in numbers.items():
            # Only what is plain is kept until later: a tensor would keep the graph that it was computed by.
            if due or type(value) is float or type(value) is int:
                self._take(name, value)
        if due:
            self.flush()
        elif now >= self._next_last:
            self._next_last = now + LAST_EVERY_S
            self._leave()

    def progress(self, items: Iterable[_Item], total: int | None = None, *, start: int = 0) -> Iterator[_Item]:
        """Yield the items, and report a step after each: `for batch in job.progress(loader, total=steps, start=step)`.

        Args:
            items: What to go through.
            total: After how many steps the job is done, with those before `start`; None: `start` and the number of the
                items, if they have one.
            start: How many steps were done before.
        """
        if total is None:
            try:
                total = start + len(items)  # type: ignore[arg-type]
            except TypeError:
                total = None
        step = start
        self.report(step, total)
        for item in items:
            yield item
            step += 1
            self.report(step, total)

    def flush(self) -> None:
        """Write what was not written yet."""
        if self._path is None or self._step is None or os.getpid() != self._pid:
            return
        self._next = self._clock() + EVERY_S
        record = self._record()
        self._numbers, self._step = {}, None
        try:
            _write(self._path, record)
        except OSError as error:
            self._say(f"report: the platform could not be told: {error.strerror}")

    def _record(self) -> str:
        return json.dumps(
            {"at": time.time(), "step": self._step, "total": self._total, "numbers": self._numbers},
        )

    def _leave(self) -> None:
        """Leave what was not written yet where the supervisor finds it if this process is killed now."""
        # In place, and opened each time: a descriptor that is kept could be closed by the job and be another file then.
        # One write to one page is there whole or not at all; what is left of a longer one stands in the second line.
        try:
            descriptor = os.open(self._last_path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            return
        try:
            os.write(descriptor, self._record().encode() + b"\n")
        except OSError:
            return
        finally:
            os.close(descriptor)

    def _begin(self) -> None:
        """Begin in this process; a fork of it has reports of its own."""
        if self._pid == 0:
            atexit.register(self.flush)
        self._pid = os.getpid()
        self._numbers, self._step, self._next = {}, None, float("-inf")

    def _take(self, name: str, value: Any) -> None:
        if name not in self._names:
            if not _NAME.fullmatch(name):
                self._say(f"report: {_short(name)} is no name for a number: 36 letters, digits and _ . / - at most")
                return
            if len(self._names) >= MAX_JOB_NUMBERS:
                self._say(f"report: {name} is not kept: a process has {MAX_JOB_NUMBERS} names at most", "names")
                return
        try:
            # PyTorch would warn of a loss that still has the graph that it was computed by.
            detach = getattr(value, "detach", None)
            number = float(value if detach is None else detach())
        except Exception:  # noqa: BLE001
            # Whatever kind of object it is: a report must not end the job.
            self._say(f"report: {name} is {_short(value)}, which is no number", name)
            return
        if not abs(number) <= MAX_JOB_NUMBER:
            words = f"is {number} at step {self._step}, and is left out; numbers up to {MAX_JOB_NUMBER:.0e} are drawn"
            self._say(f"report: {name} {words}", name)
            return
        self._names.add(name)
        self._numbers[name] = number

    def _say(self, words: str, about: str | None = None) -> None:
        """Write some words into the task's log, once for each thing that they are about."""
        key = words if about is None else about
        if key not in self._said and len(self._said) < MOST_WORDS:
            self._said.add(key)
            print(f"hai: {words}", file=sys.stderr)


def _is_count(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and 0 <= operator.index(value) <= MAX_STEP
    except Exception:  # noqa: BLE001
        # Whatever kind of object it is.
        return False


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _write(path: Path, text: str) -> None:
    """Replace a file of this process. Raises OSError."""
    # Not `whole_files`: the draft has one name, so that a process that is killed again and again leaves one.
    draft = f"{path}.draft"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(draft, flags, 0o666)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o777, exist_ok=True)
        descriptor = os.open(draft, flags, 0o666)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
    os.rename(draft, str(path))  # noqa: PTH104 - a path costs as much as the call
