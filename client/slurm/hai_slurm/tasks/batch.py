"""`hai-batch`: the command that a task of `sbatch` runs on every node.

Slurm runs a batch script on the first node alone, and `srun` in it starts tasks on all. So rank 0 runs the script, with
a server for its steps; the other ranks start what that server says. The task is over when the script ends, with its
status. The words: `hai-batch [OPTIONS] -- SCRIPT ARGUMENTS`, where SCRIPT is the text of the script.
"""
# ruff: noqa: PTH118

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from hai_client.launching.hostlist import repeated
from hai_client.launching.launcher import told_to_leave
from hai_client.launching.output import file_name, open_file, write_all
from hai_client.launching.starting import launcher, own_shims, slurm_commands
from hai_client.launching.variables import without_step
from hai_client.linux.processes import read_table
from hai_client.rank.notices.workers import workers_of
from hai_slurm.tasks import wire
from hai_slurm.tasks.agent import Agent
from hai_slurm.tasks.server import StepServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Time after which a rank other than 0 prints that it still looks for the server, seconds.
SAY_AFTER_S = 30.0
#: Time limit for finding a lost server again, seconds. If rank 0 is lost, the platform ends the run sooner.
PATIENCE_S = 120.0
PAUSE_S = 0.2
#: Time between SIGTERM and SIGKILL for steps that outlive the script, and limit of the whole end, seconds.
FINISH_S = 15.0
_TOLD = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_OPTIONS = (
    "ntasks",
    "ntasks-per-node",
    "cpus-per-task",
    "gpus-per-task",
    "output",
    "error",
    "open-mode",
    "path",
    "encoding",
)
#: Name of the script's file, which is shown in lists of processes.
_FOR_OTHERS = ("script",)


class BadWords(ValueError):
    """The arguments do not come from `sbatch`; the message names them."""


def main(words: list[str]) -> int:
    """Run the script on rank 0, or the agent on another rank; return the exit status."""
    try:
        options, script = _read(words)
        token, run_id = wire.read_token(os.environ), os.environ["HAI_RUN_ID"]
        rank, nodes = int(os.environ["HAI_RANK"]), int(os.environ["HAI_NODES"])
        master = os.environ["HAI_NODE_ADDRESSES"].split(",")[0]
    except (BadWords, KeyError, ValueError, OSError) as error:
        _tell(f"{error}; it is for tasks of `sbatch`")
        return 2
    program = launcher(own_shims())
    if rank:
        return _serve(master, token, run_id, rank, program)
    return Batch(options, script, master, token, run_id, nodes, program).run()


def _beside() -> str:
    """Return the folder with Slurm's commands that contains this program."""
    here = os.path.dirname(os.path.realpath(sys.argv[0]))  # noqa: PTH120
    return here if os.path.exists(os.path.join(here, "srun")) else str(slurm_commands())  # noqa: PTH110


def _read(words: list[str]) -> tuple[dict[str, str], list[str]]:
    if "--" not in words:
        raise BadWords("-- and a script are missing")
    at = words.index("--")
    options = {}
    for word in words[:at]:
        name, _, value = word[2:].partition("=")
        if not word.startswith("--") or name not in (*_OPTIONS, *_FOR_OTHERS, "notice", "signal-shell"):
            raise BadWords(f"{word!r} is not known")
        options[name] = value
    if not words[at + 1 :]:
        raise BadWords("the script is missing")
    return options, words[at + 1 :]


# -- every rank but 0 -----------------------------------------------------------------------------


def _serve(master: str, token: bytes, run_id: str, rank: int, program: list[str]) -> int:
    for number in _TOLD:
        # Ignore signals: rank 0 says when the job is over, and tasks get signals directly.
        signal.signal(number, lambda *_: None)
    begin, said, known = time.monotonic(), False, False
    while True:
        channel = wire.find(master, token, run_id)
        if channel is not None:
            known = True
            code = Agent(channel, rank, program).serve()
            if code is not None:
                # Rank 0 reports the status of the script.
                return 0
            begin = time.monotonic()
        waited = time.monotonic() - begin
        if waited > SAY_AFTER_S and not said:
            said = True
            _tell(f"rank 0 at {master} does not answer; waiting for it")
        if known and waited > PATIENCE_S:
            _tell(f"rank 0 at {master} is gone; giving up")
            return 1
        time.sleep(PAUSE_S)


# -- rank 0 ---------------------------------------------------------------------------------------


class Batch:
    """The script of a job, from its start to its end."""

    def __init__(
        self,
        options: dict[str, str],
        script: list[str],
        master: str,
        token: bytes,
        run_id: str,
        nodes: int,
        program: list[str],
    ) -> None:
        self._options = options
        self._script = script
        self._master = master
        self._token = token
        self._run_id = run_id
        self._nodes = nodes
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._handed_on = False

    def run(self) -> int:
        """Run the script to its end, and return the exit status."""
        # Set handlers before the start of the script: an early signal must not end this process.
        for number in _TOLD:
            signal.signal(number, self._signalled)
        try:
            sock = wire.listen(self._master, self._run_id)
        except OSError as error:
            _tell(f"steps: no port of {self._master} can be listened at: {error.strerror}")
            return 1
        env = dict(os.environ)
        server = StepServer(sock, self._token, self._run_id, self._nodes, lambda: told_to_leave(env))
        server.begin()
        hand = threading.Thread(target=self._be_a_node, name="node", daemon=True)
        hand.start()
        code = self._run_script()
        server.finish(code, FINISH_S)
        hand.join(1.0)
        return code

    def _be_a_node(self) -> None:
        code = None
        while code is None:
            channel = wire.find(self._master, self._token, self._run_id)
            if channel is not None:
                code = Agent(channel, 0, self._program).serve()
            time.sleep(PAUSE_S)

    def _run_script(self) -> int:
        path = self._write_script()
        streams, readers = self._copies()
        try:
            self._process = subprocess.Popen(
                [path, *self._script[1:]],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=streams.get(1),
                stderr=streams.get(2),
            )
        except OSError as error:
            _tell(f"the script cannot be executed: {error.strerror}; look at its first line")
            return 127
        finally:
            for fd in set(streams.values()):
                os.close(fd)
        code = self._process.wait()
        for reader in readers:
            reader.join(1.0)
        return code if code >= 0 else 128 - code

    def _write_script(self) -> str:
        """Write the script, as it was submitted, to a file that can be executed; return its path."""
        path = os.path.join(os.environ["HAI_RUNTIME_DIR"], "slurm_script")
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700)
        with os.fdopen(fd, "wb") as file:
            file.write(self._script[0].encode(self._options.get("encoding", "utf-8"), "surrogateescape"))
        return path

    def _environment(self) -> dict[str, str]:
        """Return the variables of the script: a job in which no step has been started yet, as with Slurm."""
        options, env = self._options, without_step(os.environ)
        per_node = options.get("ntasks-per-node")
        ntasks = options.get("ntasks") or (str(int(per_node) * self._nodes) if per_node else None)
        env["HAI_STEP_SERVER"] = self._master
        env["HAI_BATCH_PID"] = str(os.getpid())
        env["HAI_BATCH_DEVICES"] = env.get("CUDA_VISIBLE_DEVICES", "")
        env["SLURM_TASKS_PER_NODE"] = repeated([int(per_node or 1)] * self._nodes)
        env["SLURM_PROCID"] = env["SLURM_LOCALID"] = env["SLURM_NODEID"] = "0"
        if per_node:
            env["SLURM_NTASKS_PER_NODE"] = env["HAI_BATCH_PER_NODE"] = per_node
        if ntasks:
            env["SLURM_NTASKS"] = env["SLURM_NPROCS"] = ntasks
        if options.get("ntasks"):
            env["HAI_BATCH_NTASKS"] = options["ntasks"]
        for option, name in (("cpus-per-task", "SLURM_CPUS_PER_TASK"), ("gpus-per-task", "SLURM_GPUS_PER_TASK")):
            if option in options:
                env[name] = options[option]
        if "signal-shell" in options:
            env["HAI_BATCH_SHELL_SIGNAL"] = "1"
        if options.get("path"):
            # The caller's own programs first, as with Slurm, but for Slurm's commands.
            env["PATH"] = os.pathsep.join([_beside(), options["path"], env.get("PATH", os.defpath)])
        return env

    def _copies(self) -> tuple[dict[int, int], list[threading.Thread]]:
        """Return descriptors for the script's output: files besides the log."""
        options, streams = self._options, {}
        readers: list[threading.Thread] = []
        files: dict[str, int] = {}
        # Nothing can be written into a snapshot of code: names are meant where the job was submitted, as with Slurm.
        here = os.environ["HAI_SUBMIT_DIR"] if os.environ.get("HAI_SNAPSHOT") else os.getcwd()  # noqa: PTH109
        for stream, pattern in ((1, options.get("output")), (2, options.get("error") or options.get("output"))):
            if not pattern:
                continue
            path = file_name(pattern, self._facts(), here)
            try:
                if path not in files:
                    files[path] = open_file(path, append=self._appends())
            except OSError as error:
                _tell(f"{path} cannot be written: {error.strerror}; see `hai logs`")
                continue
            read_end, streams[stream] = os.pipe()
            reader = threading.Thread(target=_copy, args=(read_end, (stream, files[path])), daemon=True)
            reader.start()
            readers.append(reader)
        return streams, readers

    def _facts(self) -> dict[str, str]:
        env = os.environ
        job = env.get("SLURM_JOB_ID", "0")
        name, user = env.get("SLURM_JOB_NAME", ""), env.get("HAI_USER", "")
        return {"j": job, "A": job, "J": job, "a": "0", "x": name, "u": user, "N": self._master, "n": "0", "t": "0"}

    def _appends(self) -> bool:
        mode = self._options.get("open-mode", "")
        return mode.startswith("a") or (not mode and os.environ.get("HAI_RESTARTS", "0") != "0")

    def _signalled(self, number: int, _frame: Any) -> None:
        """Pass the signal of the notice on, once: to the shell, or to the workers below the script.

        The supervisor sends it here if it sees no task of a step, and takes this process for the worker. Other signals
        are not passed on: at the end the supervisor itself sends SIGTERM to all processes.
        """
        process = self._process
        if process is None or self._handed_on or number != getattr(signal, f"SIG{self._options.get('notice', 'USR1')}"):
            return
        self._handed_on = True
        shell = "signal-shell" in self._options
        for pid in [process.pid] if shell else workers_of(read_table(), [process.pid]).top:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _tell(text: str) -> None:
    print(f"hai-batch: {text}", file=sys.stderr, flush=True)


def _copy(source: int, targets: tuple[int, ...]) -> None:
    with os.fdopen(source, "rb", buffering=0) as file:
        while True:
            data = file.read(65536)
            if not data:
                return
            for target in targets:
                # A full disk stops the copy, but not the job.
                with contextlib.suppress(OSError):
                    write_all(target, data)
