"""Starts one command several times on this node: `hai submit --ranks-per-node K`, and every step of `srun`.

`hai-launch K -- COMMAND` takes its settings from the variables of the rank; `hai-launch --part` reads a part
of a step (`hai_client.launching.part`) from its standard input, as JSON.

It lives as long as its tasks. Its status is that of the first task that failed, and 0 if none did. When a task fails,
the launcher ends the others, by SIGTERM and after a while SIGKILL, unless the rank got a notice: then each task ends by
itself, so that it can save. The rank's supervisor sends its signals directly to the tasks; signals of other processes
are passed on to the tasks.
"""
# ruff: noqa: PTH118

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from hai_client.launching.layout import Layout
from hai_client.launching.output import write_all
from hai_client.launching.part import StepPart
from hai_client.launching.printing import Printing
from hai_client.linux.processes import end_with_parent, read_process, signal_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_FOUND = 127
NOT_EXECUTABLE = 126
#: How long tasks that are ended have until SIGKILL, seconds.
END_S = 10.0
#: Time between two rounds of SIGKILL, seconds: processes may fork between the look and the signal.
AGAIN_S = 0.1
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_HEARD = (signal.SIGCHLD, *_PASSED_ON)


def main(words: list[str]) -> int:
    """Start the tasks, wait for them, and return the status to end with."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    try:
        part = StepPart.of(json.load(sys.stdin)) if words == ["--part"] else part_of_rank(words, os.environ)
    except (KeyError, TypeError, ValueError) as error:
        print(f"hai-launch: {error}; usage: hai-launch K -- COMMAND", file=sys.stderr)
        return 2
    return Launcher(part).run()


def part_of_rank(words: list[str], env: Mapping[str, str]) -> StepPart:
    """Return the part that `K -- COMMAND` means on this rank of a run. Raises ValueError, KeyError."""
    if len(words) < 3 or words[1] != "--":
        raise ValueError("K, -- and a command are needed")
    nodes, rank, each = int(env["HAI_NODES"]), int(env["HAI_RANK"]), int(words[0])
    slurm = "SLURM_JOB_ID" in env
    addresses = (env.get("HAI_NODE_ADDRESSES") or ",".join([env.get("MASTER_ADDR", "")] * nodes)).split(",")
    return StepPart(
        command=words[2:],
        layout=Layout(range(nodes), [each] * nodes),
        index=rank,
        addresses=addresses,
        step="0",
        env=dict(env),
        slurm=slurm,
    )


def told_to_leave(env: Mapping[str, str]) -> bool:
    """Return whether the rank has a notice."""
    folder = env.get("HAI_RUNTIME_DIR")
    return bool(folder) and os.path.exists(os.path.join(str(folder), "notice.json"))  # noqa: PTH110


class Launcher:
    """The tasks of one part of a step, from their start to their end."""

    def __init__(self, part: StepPart) -> None:
        self._part = part
        #: Numbers of the living tasks on this node, by pid.
        self._alive: dict[int, int] = {}
        self._printing = Printing(part)
        self._first_failure = 0
        self._supervisor = supervisor()
        #: Whether another process has sent the tasks a signal: a failure does not end the others then.
        self._told = False
        #: Monotonic time of SIGKILL; None: no tasks are being ended.
        self._kill_at: float | None = None

    def run(self) -> int:
        """Start the tasks, wait for their end, and return the exit status."""
        early = _pending()
        if early:
            # The notice came before the start: without a task there is nothing to save.
            return 128 + early
        for local in range(self._part.tasks):
            code = self._start(local)
            if code:
                self._first_failure = code
                self._end_others()
                break
        self._printing.begin()
        while self._alive:
            self._step()
        self._printing.finish()
        return self._first_failure

    def _start(self, local: int) -> int:
        """Start a task; return 0, or a shell's status for a command that cannot be started."""
        part, parent = self._part, os.getpid()
        program = part.command[0]
        try:
            out, err = self._printing.of_task(local)
            process = subprocess.Popen(
                part.command,
                env=part.environment(local),
                cwd=part.cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=lambda: _become_task(parent),
            )
        except FileNotFoundError as error:
            if error.filename == program:
                return _cannot(NOT_FOUND, f"{program}: command not found; correct the command, or PATH")
            return _cannot(NOT_FOUND, f"{error.filename}: no such file or folder; correct --chdir or --output")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            why = getattr(error, "strerror", None) or str(error)
            where = getattr(error, "filename", None) or program
            return _cannot(NOT_EXECUTABLE, f"{where}: {why}; is it executable (chmod +x), and its folder writable?")
        finally:
            self._printing.close_ends()
        self._alive[process.pid] = local
        # Its status is collected here: Popen is not to look for it when it is forgotten.
        process.returncode = 0
        return 0

    def _step(self) -> None:
        """Wait for the next event, and handle it."""
        left = 3600.0 if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())
        found = signal.sigtimedwait(_HEARD, left)
        if found is not None and found.si_signo in _PASSED_ON and found.si_pid != self._supervisor:
            self._told = True
            for pid in list(self._alive):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, found.si_signo)
        self._collect()
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            signal_below(os.getpid(), signal.SIGKILL)
            self._kill_at = time.monotonic() + AGAIN_S

    def _collect(self) -> None:
        """Collect the tasks that have ended."""
        for pid, local in list(self._alive.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self._alive[pid]
            code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            if code and not self._first_failure:
                self._first_failure = code
                self._failed(local, code)

    def _failed(self, local: int, code: int) -> None:
        """Handle the failure of the first task that failed."""
        part = self._part
        if not self._alive or not part.end_others or self._told or told_to_leave(part.env):
            return
        _say(f"task {part.number(local)} ended with status {code}; the others on this node are ended")
        self._end_others()

    def _end_others(self) -> None:
        if self._alive:
            signal_below(os.getpid(), signal.SIGTERM)
            self._kill_at = time.monotonic() + END_S


def supervisor() -> int:
    """Return the pid of this rank's supervisor; 0 if it is unknown.

    The supervisor starts the rank's command in a session of its own, and signals the processes below it directly. Its
    signals must not reach the tasks twice, as many programs stop saving after a second SIGTERM.
    """
    leader = read_process(os.getsid(0))
    return leader.parent if leader is not None else 0


def _become_task(parent: int) -> None:
    """Prepare the child before it executes the command: restore signals, and end it together with the launcher."""
    end_with_parent(signal.SIGKILL, parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)


def _pending() -> int:
    """Return a pending signal to leave; 0: none."""
    return next((int(number) for number in _PASSED_ON if number in signal.sigpending()), 0)


def _cannot(code: int, sentence: str) -> int:
    _say(sentence)
    return code


def _say(text: str) -> None:
    write_all(2, f"hai-launch: {text}\n".encode(errors="replace"))
