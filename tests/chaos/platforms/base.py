"""The interface of a platform for the chaos run."""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod
from pathlib import Path

from chaos.processes import Process, find, send
from hai_client import Client

#: Turns are short for tasks of some seconds, and no node or task is given up because of the strikes.
POLICY = {
    "min_run": '"2s"',
    "slice": '"4s"',
    "min_run_per_switch": "0.0",
    "half_life": '"1m"',
    "max_rotations": "16",
    "strikes": "1000000",
    "max_failed_starts": "1000",
}
USERS = ("ann", "bob", "cy", "dee")
#: An admin, who may read all users' tasks and events.
ADMIN = "ann"
#: Seconds that a process gets to end after it was told to.
ENDS_S = 60.0


class Platform(ABC):
    """A platform in a folder of its own, which all its processes have in their arguments or environment."""

    def __init__(self, home: Path, nodes: int) -> None:
        self.home = home
        self.nodes = nodes
        self.config = home / "policy.py"
        self.config.write_text("".join(f"c.SchedulingPolicy.{name} = {value}\n" for name, value in POLICY.items()))
        #: A folder on a small disk of its own with the platform's state, which a strike may fill; None: there is none.
        self.disk: Path | None = None
        #: Processes that ended by themselves or by a strike and that the chaos run started again, in words.
        self.revived: list[str] = []

    @property
    @abstractmethod
    def state(self) -> Path:
        """The state folder of the scheduler service."""

    @abstractmethod
    def start(self) -> None:
        """Start the platform and wait until it is healthy."""

    @abstractmethod
    def tend(self) -> None:
        """Start ended processes that the platform does not start itself, as Kubernetes, systemd or an admin would."""

    @abstractmethod
    def urls(self) -> list[str]:
        """The addresses of the API, as `HAI_URL` has them."""

    @abstractmethod
    def token(self, user: str) -> str:
        """The token of a user."""

    @abstractmethod
    def healthy(self) -> bool:
        """Whether an API answers and a loop leads, as they say at this moment; returns quickly in any case."""

    @abstractmethod
    def end(self) -> None:
        """Stop all processes of the platform in order."""

    def environ(self, user: str, turn: int = 0) -> dict[str, str]:
        """The environment of the `hai` command of that user, at one of the addresses."""
        urls = self.urls()
        url = urls[turn % len(urls)]
        return {"HAI_URL": url, "HAI_TOKEN": self.token(user), "XDG_CONFIG_HOME": str(self.home / "x")}

    def client(self, user: str = ADMIN, turn: int = 0) -> Client:
        """A user's client, at one of the addresses."""
        urls = self.urls()
        return Client(urls[turn % len(urls)], self.token(user))

    def processes(self, *roles: str) -> list[Process]:
        """The processes of `roles`, or all processes if no role is named, ordered by pid."""
        found = sorted(find(self.home), key=lambda process: process.pid)
        return [process for process in found if not roles or process.role in roles]

    def kill_all(self) -> None:
        """Kill all processes that are left of the platform."""
        for _ in range(50):
            left = self.processes()
            if not left:
                return
            for process in left:
                send(process.pid, signal.SIGKILL)
            time.sleep(0.1)

    def wait_healthy(self, seconds: float) -> bool:
        """Tend the platform until it is healthy; returns whether it was healthy within `seconds`."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.tend()
            if self.healthy():
                return True
            time.sleep(0.2)
        return False
