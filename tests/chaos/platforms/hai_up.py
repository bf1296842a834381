"""`hai up`: one machine, SQLite, a Hub with the proxy inside it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from chaos.platforms.base import ENDS_S, USERS, Platform
from chaos.processes import send
from e2e.conftest import Platform as Up
from hai_client.errors import HaiError
from hai_client.http import Transport

#: A dead `hai up` is started again after this time, seconds.
_REVIVE_S = 1.0
#: The size of the disk of the state folder: the strike that fills it takes a moment.
_DISK = "64m"


class HaiUp(Platform):
    """`hai up`, which the chaos run starts again whenever it has ended."""

    def __init__(self, home: Path, nodes: int) -> None:
        super().__init__(home, nodes)
        self._up = Up(home, nodes=nodes, options=("--scheduler-config", str(self.config)))
        self._ended: float | None = None
        self._ending = False
        self._mounts = self._own_disk()
        self.disk = self.state if self._mounts else None

    def _own_disk(self) -> list[Path]:
        """Give the state folder a disk of its own, beside those of logs and checkpoints; returns what was mounted.

        What ranks write while the platform's disk is full is theirs to lose: their folders stay on the larger disk.
        """
        done: list[Path] = []
        self.state.mkdir()
        if not _mount(self.state, "-t", "tmpfs", "-o", f"size={_DISK},mode=700", "tmpfs"):
            return done
        done.append(self.state)
        for name in ("runs", "checkpoints"):
            place, larger = self.state / name, self.home / f"larger-{name}"
            place.mkdir()
            larger.mkdir()
            if _mount(place, "--bind", str(larger)):
                done.append(place)
        # A folder with other things and no database has never been a state folder, and is refused.
        (self.state / "hai.sqlite").touch(0o600)
        return done

    @property
    def state(self) -> Path:
        return self._up.state

    def start(self) -> None:
        self._up.start()
        for user in USERS:
            self._up.token(user)
        # A stopped service does not answer; questions that come often must not wait for it.
        self._quick = Transport(f"{self._up.url}/services/hai/api/v1", None, timeout_s=1.0, delays_s=())

    def kill_all(self) -> None:
        super().kill_all()
        for place in reversed(self._mounts):
            kept = self.home / f"kept-{place.name}"
            if place == self.state:
                shutil.copytree(place, kept, symlinks=True, ignore=shutil.ignore_patterns("runs", "checkpoints", "bus"))
            subprocess.run(["umount", "-l", place], check=True)
        self._mounts = []

    def tend(self) -> None:
        process = self._up.process
        assert process is not None
        if self._ending or process.poll() is None:
            return
        self._ended = self._ended or time.monotonic()
        if time.monotonic() - self._ended > _REVIVE_S:
            self._ended = None
            self.revived.append(f"hai up, which had ended with status {process.returncode}")
            self._up.launch()

    def urls(self) -> list[str]:
        return [self._up.url]

    def token(self, user: str) -> str:
        return self._up.token(user)

    def healthy(self) -> bool:
        try:
            found = self._quick.call("GET", "/health")
        except HaiError:
            return False
        return bool(found["status"] == "ok")

    def end(self) -> None:
        self._ending = True
        process = self._up.process
        if process is None:
            return
        if process.poll() is None:
            send(process.pid, signal.SIGINT)
            try:
                process.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _mount(place: Path, *words: str) -> bool:
    """Mount something at the folder; returns whether this machine has let it."""
    try:
        return subprocess.run(["mount", *words, place], check=False, capture_output=True).returncode == 0
    except OSError:
        return False
