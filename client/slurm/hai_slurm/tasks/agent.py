"""The agent of a batch job on one node: starts the node's part of every step, and passes on its output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading

from hai_client.launching.launcher import END_S
from hai_client.linux.processes import signal_below
from hai_slurm.tasks.wire import Channel, Closed, Output, WireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Variables whose values on this node win over those of the script, which runs on another node.
NODES_OWN = frozenset(
    {
        "HAI_NODE_NAME",
        "HAI_RANK",
        "HAI_RUNTIME_DIR",
        "HAI_TOKEN_FILE",
        "NODE_RANK",
        "PET_NODE_RANK",
        "RANK",
        "SLURMD_NODENAME",
        "SLURM_CPUS_ON_NODE",
        "SLURM_GPUS_ON_NODE",
        "SLURM_JOB_GPUS",
        "SLURM_TOPOLOGY_ADDR",
    }
)
#: Variables whose values on this node win unless the script has changed them.
_DEVICES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
READ_BYTES = 256 * 1024


class Agent:
    """Carries out the orders of the job's server on this node.

    Args:
        channel: The connection to the server.
        node: The number of this rank.
        program: The command line of the launcher, to which `--part` is added.
    """

    def __init__(self, channel: Channel, node: int, program: list[str]) -> None:
        self._channel = channel
        self._node = node
        self._program = program
        self._lock = threading.Lock()
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def serve(self) -> int | None:
        """Work until the job is over; return its status, or None if the connection to the server was lost."""
        try:
            self._channel.send({"role": "node", "node": self._node})
            while True:
                message = self._channel.receive()
                if isinstance(message, Output):
                    continue
                if "over" in message:
                    return int(message["over"])
                self._do(message)
        except (Closed, WireError):
            return None
        finally:
            self._channel.close()

    def _do(self, message: dict[str, Any]) -> None:
        if "start" in message:
            step = int(message["start"])
            thread = threading.Thread(target=self._run, args=(step, message["part"]), daemon=True)
            thread.start()
        elif "signal" in message:
            self._signal(int(message["step"]), int(message["signal"]))
        elif "end" in message:
            self.end(int(message["end"]))

    def _signal(self, step: int, number: int) -> None:
        """Let the launcher of a step pass a signal on to its tasks."""
        with self._lock:
            process = self._running.get(step)
            if process is not None:
                process.send_signal(number)

    def end(self, step: int) -> None:
        """End the tasks of a step: SIGTERM, and SIGKILL for what is left after a while."""
        self._signal(step, signal.SIGTERM)
        timer = threading.Timer(END_S, self._kill, (step,))
        timer.daemon = True
        timer.start()

    def _kill(self, step: int) -> None:
        with self._lock:
            process = self._running.get(step)
        if process is not None and process.poll() is None:
            signal_below(process.pid, signal.SIGKILL)

    def end_all(self) -> None:
        """End all steps that run here."""
        with self._lock:
            running = list(self._running)
        for step in running:
            self.end(step)

    def _run(self, step: int, part: dict[str, Any]) -> None:
        code = 1
        for name in (*NODES_OWN, *_DEVICES):
            if name in os.environ:
                part["env"].setdefault(name, os.environ[name])
        try:
            process = subprocess.Popen(
                [*self._program, "--part"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            with self._lock:
                self._running[step] = process
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(part).encode())
                process.stdin.close()
            readers = [
                threading.Thread(target=self._pass_on, args=(step, stream, file), daemon=True)
                for stream, file in ((1, process.stdout), (2, process.stderr))
            ]
            for reader in readers:
                reader.start()
            code = process.wait()
            for reader in readers:
                reader.join(2.0)
        except OSError as error:
            self._say(step, f"the step could not be started: {error.strerror}")
        with self._lock:
            self._running.pop(step, None)
        with contextlib.suppress(Closed):
            self._channel.send({"ended": step, "code": code if code >= 0 else 128 - code})

    def _pass_on(self, step: int, stream: int, file: Any) -> None:
        with file, contextlib.suppress(Closed, OSError):
            while True:
                data = file.read1(READ_BYTES)
                if not data:
                    return
                self._channel.send_output(step, stream, data)

    def _say(self, step: int, text: str) -> None:
        with contextlib.suppress(Closed):
            self._channel.send_output(step, 2, f"srun: {text}\n".encode())
