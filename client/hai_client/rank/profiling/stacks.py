"""Reads the Python stacks of the processes of a rank.

py-spy reads them from outside, without the help of the process. Where it is not installed or not allowed, the process
may print them itself: a task says by `HAI_STACKS_SIGNAL=USR2` that its program prints its stacks on that signal
(`faulthandler.register(signal.SIGUSR2, all_threads=True)`). The signal is sent only to processes that catch it: it
would end any other. What no task has named is never sent: a handler may mean something else, as to save and to leave.
"""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

from hai_client.linux import identity
from hai_client.linux.catching import read_masks
from hai_client.linux.processes import descendants, read_arguments, read_program, read_table, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hai_client.linux.identity import Account

#: Processes whose stacks are read, and characters that are kept of all stacks of a rank, and of one.
MOST_PROCESSES = 32
MOST_TEXT = 200_000
LONGEST = 60_000
#: How long py-spy may take for one process, and how long a process may take to print, seconds.
PY_SPY_S = 15.0
PRINT_S = 2.0
NAME = 200
SIGNAL = "HAI_STACKS_SIGNAL"
ALLOWED = {"USR1": signal.SIGUSR1, "USR2": signal.SIGUSR2, "QUIT": signal.SIGQUIT, "HUP": signal.SIGHUP}


def read_stacks(
    environment: Mapping[str, str], account: Account | None, printed: Callable[[], bytes]
) -> dict[str, Any]:
    """Read the stacks of all Python processes of this rank, and return the report of the end.

    Args:
        environment: The variables of the command.
        account: The account of the job; None: that of this process.
        printed: Returns what the job has printed since the last call.
    """
    table = read_table()
    pids = [pid for pid in descendants(table, (os.getpid(),)) if not table[pid].zombie and is_python(pid)]
    if not pids:
        return {"state": "failed", "message": "no process of Python runs in this rank"}
    reader, left = _Reader(environment, account, printed), MOST_TEXT
    stacks, why = [], []
    for pid in pids[:MOST_PROCESSES]:
        how, text = reader.read(pid)
        if how is None:
            why.append(f"process {pid}: {text}")
            text = ""
        text = text[: min(left, LONGEST)]
        left -= len(text)
        name = " ".join(read_arguments(pid))[:NAME]
        stacks.append({"pid": pid, "name": name, "how": how, "kernel": kernel_words(pid), "text": text})
    return {"state": "done", "message": "; ".join(why)[:1000] or None, "stacks": stacks}


def is_python(pid: int) -> bool:
    """Return whether a process is an interpreter of Python."""
    return read_program(pid).startswith(("python", "pypy"))


def kernel_words(pid: int) -> str:
    """Return what the kernel says of a process: what its threads do, and for how many of them."""
    words: dict[str, int] = {}
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return "it has ended"
    for thread in threads:
        word = _thread_word(f"/proc/{pid}/task/{thread}")
        words[word] = words.get(word, 0) + 1
    first = _thread_word(f"/proc/{pid}/task/{pid}")
    counted = ", ".join(f"{count} {word}" for word, count in sorted(words.items(), key=lambda pair: -pair[1])[:8])
    return f"main thread {first}; of {len(threads)} threads: {counted}"


_STATES = {"R": "runs", "S": "sleeps", "D": "waits for a disk or a driver", "T": "is stopped", "t": "is traced"}


def _thread_word(folder: str) -> str:
    try:
        with open(f"{folder}/stat", "rb") as file:
            stat = file.read()
        letter = chr(stat[stat.rindex(b")") + 2])
    except (OSError, ValueError, IndexError):
        return "has ended"
    place = ""
    if letter in "SD":
        with contextlib.suppress(OSError, ValueError), open(f"{folder}/wchan", encoding="ascii") as file:
            where = file.read().strip()
            place = f" in {where}" if where not in ("", "0") else ""
    return _STATES.get(letter, f"is in state {letter}") + place


class _Reader:
    """The ways to read stacks, the best one first."""

    def __init__(self, environment: Mapping[str, str], account: Account | None, printed: Callable[[], bytes]) -> None:
        self._environment = environment
        self._account = account
        self._printed = printed
        #: py-spy of the platform's own Python, which runs with its rights; else that of the job, with the job's rights.
        self._own = _program(os.path.dirname(sys.executable))  # noqa: PTH120
        self._theirs = _program(environment.get("PATH") or "")

    def read(self, pid: int) -> tuple[str | None, str]:
        """Return how the stacks were read and what they are; (None, why) if they cannot be read."""
        whys = []
        for program, account in ((self._own, None), (self._theirs, self._account)):
            if program is not None:
                text, why = _py_spy(program, pid, account)
                if text:
                    return "py-spy", text
                whys.append(why)
        text, why = self._by_signal(pid)
        if text:
            return "faulthandler", text
        if not whys:
            whys.append("py-spy is not installed (in the task's environment: pip install py-spy)")
        return None, ", and ".join([*whys, why])

    def _by_signal(self, pid: int) -> tuple[str, str]:
        named = self._environment.get(SIGNAL)
        if not named:
            return "", f"its task names no signal on which it prints them ({SIGNAL})"
        number = ALLOWED.get(named.upper()[3:] if named.upper().startswith("SIG") else named.upper())
        if number is None:
            return "", f"{SIGNAL} is {named!r}: it may be one of {', '.join(ALLOWED)}"
        if not read_masks(pid).caught >> (number - 1) & 1:
            return "", f"it does not catch {number.name}, so the signal would end it: faulthandler.register is missing"
        self._printed()
        send(pid, number)
        text, ends = "", time.monotonic() + PRINT_S
        while time.monotonic() < ends:
            time.sleep(0.1)
            more = self._printed().decode("utf-8", "replace")
            text += more
            if text and not more:
                break
        found = _of_faulthandler(text)
        return found, "" if found else f"it has printed no stacks on {number.name}"


def _of_faulthandler(text: str) -> str:
    """Return the lines of faulthandler among what a job prints."""
    found, inside = [], False
    for line in text.splitlines():
        if "(most recent call first)" in line and line.startswith(("Thread 0x", "Current thread 0x", "Stack (")):
            inside = True
        elif not line.startswith("  File ") and not line.startswith("  ..."):
            inside = False
        if inside:
            found.append(line)
    return "\n".join(found)


def _program(path: str) -> str | None:
    return shutil.which("py-spy", path=path) if path else None


def _py_spy(program: str, pid: int, account: Account | None) -> tuple[str, str]:
    """Return what py-spy prints of a process, or an empty text and why."""

    def become() -> None:
        # A program of the job must not get the rights of the platform.
        if account is not None:
            identity.become(account, no_new_privs=True)

    try:
        done = subprocess.run(
            [program, "dump", "--pid", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PY_SPY_S,
            preexec_fn=become if account is not None else None,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"py-spy has not read it within {PY_SPY_S:g} s"
    except (OSError, subprocess.SubprocessError) as error:
        return "", f"py-spy cannot be started: {error}"
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        return "", f"py-spy may not read it: {said[-1][:200] if said else 'it says nothing'}"
    return done.stdout.decode("utf-8", "replace"), ""
