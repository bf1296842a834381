"""Runs scripts that train with several processes without an import of PyTorch for each of these processes.

A script of `hfai_scripts` is a Python that starts two more, and each of the three imports PyTorch: 9 s of processor
time for a training of 0.1 s. Here one process has imported it, and forks for each script; the script's trainers are
forks as well. What a script does itself stays the same. That trainers are started afresh (`spawn`) as well as on a
cluster is tested by one of the trainings of `test_hfai_torch.py`, and by all of `test_hfai_platform.py`.

The process is this file as a program, in the frameworks' Python. It reads requests from its standard input, a JSON
object a line, and answers each with the script's exit status.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: What the scripts import besides PyTorch itself, some of it only at their first step.
MODULES = ("numpy", "torch._dynamo", "torch.distributed.fsdp", "torch.distributed.pipelining", "torch.utils.data")
#: How long a script may take, seconds.
TIMEOUT_S = 300


def only_node() -> dict[str, str]:
    """Environment variables of a script on the only node."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = str(sock.getsockname()[1])
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "1", "RANK": "0"}


class Preloaded:
    """A process that has imported PyTorch.

    Args:
        process: The process.
        folder: A folder for what the scripts print.
    """

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder

    def run(self, script: Path, words: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a script with these words to its end, as the only node.

        Its environment is that of the process, and `variables`.
        """
        files = {name: self._folder / name for name in ("stdout", "stderr")}
        for file in files.values():
            file.write_text("")
        request = {"command": [str(script), *words], "variables": only_node() | variables}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request | {name: str(file) for name, file in files.items()}) + "\n")
        self._process.stdin.flush()
        ended = select.select([self._process.stdout], [], [], TIMEOUT_S)[0]
        printed = {name: file.read_text() for name, file in files.items()}
        assert ended, f"{script.name} has not ended within {TIMEOUT_S} s: {printed}"
        answer = self._process.stdout.readline()
        assert answer, f"the preloaded process has ended with {self._process.wait()}"
        return subprocess.CompletedProcess(request["command"], int(answer), **printed)


@contextmanager
def preloaded(python: str, environment: Mapping[str, str], folder: Path) -> Iterator[Preloaded]:
    """A process of that Python, with that environment, that has imported PyTorch; it ends with the block."""
    with subprocess.Popen(
        [python, __file__], env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield Preloaded(process, folder)
        finally:
            # Also a script that has not ended.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def serve() -> None:
    """Run the scripts that are asked for, one after the other, until standard input is closed."""
    import importlib

    import torch.multiprocessing

    for name in MODULES:
        importlib.import_module(name)
    started = torch.multiprocessing.start_processes

    def forked(
        fn: Any, args: Any = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
    ) -> Any:
        del start_method
        return started(fn, args, nprocs, join, daemon, start_method="fork")

    torch.multiprocessing.start_processes = forked
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(run_script(json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def run_script(request: Mapping[str, Any]) -> int:
    """Run a script in this process, as Python runs its main program; returns its exit status."""
    for number, name in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        os.dup2(os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.environ.update(request["variables"])
    sys.argv = request["command"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    status = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
        if isinstance(left.code, str):
            print(left.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 -- any error of the script is shown as Python shows it
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    serve()
