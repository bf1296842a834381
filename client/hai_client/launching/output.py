"""Merges the output of several tasks into one stream of whole lines, and makes the names of output files."""
# ruff: noqa: PTH118, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import re
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: Longest line that is passed on whole, bytes.
MAX_LINE = 64 * 1024
_FIELD = re.compile(r"%(\d*)([%a-zA-Z])")


def write_all(fd: int, data: bytes) -> None:
    """Write all data; it is dropped if the reader has closed the pipe. Raises OSError on a full disk."""
    view = memoryview(data)
    with contextlib.suppress(BrokenPipeError):
        while view:
            view = view[os.write(fd, view) :]


class Mixer:
    """Writes the output of several tasks to one descriptor, line by line.

    A carriage return counts as the end of a line: progress bars stay alive, and do not tear another's line apart.

    Args:
        fd: The descriptor to write to.
        width: Number of digits of a label; None: no labels (`srun --label` writes `0: text`).
    """

    def __init__(self, fd: int, width: int | None = None) -> None:
        self._fd = fd
        self._width = width
        self._lock = threading.Lock()

    def read(self, source: int, task: int) -> None:
        """Pass on the data of a descriptor until its end, then close it. Called in a thread of its own."""
        label = b"" if self._width is None else f"{task:0{self._width}d}: ".encode()
        kept = b""
        with os.fdopen(source, "rb", buffering=0) as file:
            while True:
                data = file.read(65536)
                if not data:
                    break
                kept = self._pass_on(kept + data, label)
        if kept:
            self._write(kept + (b"\n" if label else b""), label)

    def _pass_on(self, data: bytes, label: bytes) -> bytes:
        """Write the complete lines; return the incomplete rest."""
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end == 0 and len(data) >= MAX_LINE:
            end = len(data)
        if end:
            self._write(data[:end], label)
        return data[end:]

    def _write(self, data: bytes, label: bytes) -> None:
        if label:
            data = b"".join(label + line for line in data.splitlines(keepends=True))
        with self._lock:
            write_all(self._fd, data)


def file_name(pattern: str, facts: Mapping[str, str], cwd: str) -> str:
    """Return the absolute path of the file that a pattern of `--output` names (sbatch(1), "filename pattern").

    Args:
        pattern: With `%j`, `%A` (the job), `%a` (0: there are no arrays), `%x` (its name), `%u` (the user), `%N` (the
            node), `%n` (its number), `%t` (the task), `%s` (the step), `%J` (job.step), `%%`; a number between pads
            with zeros. What is not known stays as it is, as with Slurm.
        facts: The texts by letter.
        cwd: The folder of relative names.
    """

    def put(match: re.Match[str]) -> str:
        digits, letter = match.group(1), match.group(2)
        if letter == "%":
            return "%"
        value = facts.get(letter)
        if value is None:
            return match.group(0)
        return value.zfill(min(int(digits), 10)) if digits and value.isdigit() else value

    return os.path.join(cwd, _FIELD.sub(put, pattern))


def names_tasks(pattern: str) -> bool:
    """Return whether a pattern names one file for each task or each node."""
    return any(match.group(2) in "tnN" for match in _FIELD.finditer(pattern))


def open_file(path: str, *, append: bool) -> int:
    """Open a file to print to, and return its descriptor. Raises OSError."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if append else os.O_TRUNC), 0o666)
