"""The platform that the parts run on: `hai up` of this tree, with all GPUs of the machine in one node."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from gpu.table import NotShown
from hai_client import Client, Conflict, Invalid, TaskRequest
from kit.ports import free_port
from kit.waiting import wait_for

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
SOURCES = ("client", "client/slurm", "haienv", "hub_config", "scheduler_service", "spawner")
#: Without an installation there is no command `hai`, and no verb of it is found.
UP = "import sys; from hai_hub.up.command import command; sys.exit(command(sys.argv[1:]))"
#: What runs program.py: its folder is no place for modules.
PROGRAM = (sys.executable, "-P", str(Path(__file__).with_name("program.py")))
OVER = ("succeeded", "failed", "stopped")


def missing() -> list[str]:
    """Return the packages that `hai up` needs and this Python lacks, as requirements for pip."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return [wanted for wanted in dict.fromkeys([*extras["hub"], *extras["scheduler"]]) if not _has(wanted)]


def _has(wanted: str) -> bool:
    try:
        version(re.split(r"[\[<>=!~ ;]", wanted)[0])
    except PackageNotFoundError:
        return False
    return True


class Up:
    """A running `hai up`.

    Args:
        folder: An empty folder for all of its files.

    Raises:
        NotShown: A package is missing.
        AssertionError: It has ended, or is not ready in time.
    """

    def __init__(self, folder: Path) -> None:
        if wanted := missing():
            packages = " ".join(map(repr, wanted))
            raise NotShown(f"packages of the platform are missing: {sys.executable} -m pip install {packages}")
        port, began = free_port(), time.monotonic()
        paths = [*(str(ROOT / source) for source in SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "JUPYTER", "XDG_"))}
        env |= {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}
        self._output = folder / "up.log"
        with self._output.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", UP, "--nodes", "1", "--port", str(port), "--user", "ann"],
                cwd=ROOT,
                env=env | {"PYTHONPATH": os.pathsep.join(paths)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_for("hai up to be ready", self._ready, 120)
        except BaseException:
            self.end()
            raise
        #: How long the start took, seconds.
        self.took_s = time.monotonic() - began
        token = json.loads((folder / "config/hai/config.json").read_text())["token"]
        self.client = Client(f"http://127.0.0.1:{port}", token)

    def _ready(self) -> bool:
        assert self._process.poll() is None, f"hai up has ended: {self._output.read_text()[-1500:]}"
        return "hai submit" in self._output.read_text()

    def nodes(self) -> str:
        """What it says of its nodes."""
        lines = (line.strip() for line in self._output.read_text().splitlines())
        return next((line for line in lines if line.startswith("nodes ")), "")

    def end(self) -> None:
        """Stop it as Ctrl-C does; what does not end is killed."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Tasks:
    """The tasks of a part.

    Args:
        client: The platform.
        folder: A folder for their files; a task waits for files in it.
        gpus: How many GPUs the node has.
        ends: When nothing is waited for any more, on the clock of `time.monotonic`.
    """

    def __init__(self, client: Client, folder: Path, gpus: int, ends: float = inf) -> None:
        self.client = client
        self.gpus = gpus
        self._ends = ends
        self._folder = folder
        self._live: list[int] = []

    def submit(self, *command: str, gpus: int | None = None, **more: Any) -> int:
        """Submit a command, and return the number of its task."""
        env = {"PYTHONPATH": str(ROOT / "client"), "NCCL_DEBUG": "VERSION"}
        if "LD_LIBRARY_PATH" in os.environ:
            env["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        name, asked = f"gpu-{time.monotonic_ns()}", None if gpus == self.gpus else gpus
        request = TaskRequest(name=name, command=command, cwd=str(self._folder), gpus=asked, env=env, **more)
        self._live.append(self.client.submit(request).id)
        return self._live[-1]

    def program(self, *steps: str, **more: Any) -> int:
        """Submit program.py with these steps."""
        return self.submit(*PROGRAM, str(self._folder), *steps, **more)

    def let(self, name: str) -> None:
        """Make the file that a program waits for."""
        (self._folder / name).touch()

    def log(self, number: int, run: int | None = None) -> list[str]:
        """Return the lines of a task's first rank, of its newest run or another; none, if that has not begun."""
        with contextlib.suppress(Invalid):
            return [line.text for line in self.client.logs(number, run=run)]
        return []

    def until(self, number: int, what: str, look: Callable[[], T], within: float = 90) -> T:
        """Look again and again, while a task goes on. Raises AssertionError: it has ended, or it takes too long."""

        def here() -> T:
            over = self.client.task(number).state in OVER
            found = look()
            assert found or not over, f"the task ended before {what}: {' / '.join(self.log(number)[-8:])}"
            return found

        return wait_for(what, here, self._within(within))

    def line(self, number: int, text: str, run: int | None = None) -> str:
        """Wait for a line that has a text, and return it. Raises AssertionError."""

        def look() -> str:
            return next((line for line in self.log(number, run) if text in line), "")

        return self.until(number, f"a line with {text!r}", look, 120)

    def over(self, number: int) -> Any:
        """Wait for the end of a task, and return it. Raises AssertionError: it has not succeeded."""
        look, within = lambda: self.client.task(number), self._within(180)
        task = wait_for("the task to end", look, within, met=lambda one: one.state in OVER)
        assert task.state == "succeeded", f"the task is {task.state}: {' / '.join(self.log(number)[-8:])}"
        return task

    def stop_all(self) -> None:
        """Stop what a part has left."""
        for number in self._live:
            # It may end by itself meanwhile.
            with contextlib.suppress(Conflict):
                self.client.stop(number)
        states = lambda: {self.client.task(number).state for number in self._live}  # noqa: E731
        wait_for("all tasks to be over", states, 60, met=set(OVER).issuperset)
        self._live.clear()

    def _within(self, seconds: float) -> float:
        return min(seconds, self._ends - time.monotonic())
