"""`hai up`: one machine, SQLite, a Hub with the proxy inside it."""

from __future__ import annotations

import os
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


class HaiUp(Platform):
    """`hai up`, which the chaos run starts again whenever it has ended."""

    def __init__(self, home: Path, nodes: int) -> None:
        super().__init__(home, nodes)
        self._up = Up(home, nodes=nodes, options=("--scheduler-config", str(self.config)))
        self._ended: float | None = None
        self._ending = False

    @property
    def state(self) -> Path:
        return self._up.state

    def start(self) -> None:
        self._up.start()
        for user in USERS:
            self._up.token(user)
        # A stopped service does not answer; questions that come often must not wait for it.
        self._quick = Transport(f"{self._up.url}/services/hai/api/v1", None, timeout_s=1.0, delays_s=())

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
