"""The command of a spot container's task: a JupyterLab server on the node that the task has got.

    python -m hai_client.spot

The task's spec holds no secret. When its turn has come, this process calls the Hub with its run's token ("knocks"),
gets the command and the variables of the server, and runs the server as its child. It knocks again every few seconds,
so that a Hub that was restarted finds the server, and can ask for another start of it.

A notice does not end the server at once: the user sees it in JupyterLab, saves, and confirms, or the time runs out.
Then this process ends the server and tells the platform that the node is free.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from hai_client.job import Job, Notice
from hai_client.spot_door import Door, DoorAnswer, DoorRefused, HubUnreachable

#: Time between two looks at the notice, the server and the Hub, seconds.
TICK_S = 0.2
#: Time between two knocks while the server runs.
KNOCK_EVERY_S = 15.0
#: Time between two knocks while the Hub does not answer.
UNREACHABLE_S = 2.0
#: How long to wait for a Hub that has never answered: until then the node is of no use to any user.
GIVE_UP_S = 900.0
#: How long before the deadline the server is ended, to have time to end its kernels.
MARGIN_S = 15.0
#: A task that is stopped for good leaves after this: long enough for JupyterLab to save what is open.
STOP_S = 8.0
#: How long the server may take to end its kernels.
END_S = 10.0
#: How long after a signal to leave its notice may come; without a notice the server is ended then.
NOTICE_LATE_S = 2.0
#: The file in HAI_RUNTIME_DIR by which the user says that all is saved.
LEAVE_FILE = "spot-leave"
#: Variables that the server does not get: it has a token of its own.
_HIDDEN = ("HAI_TOKEN_FILE", "HAI_SPOT_URL", "HAI_SPOT_SERVER", "HAI_SPOT_PORT")

FAILED = 1
#: 128 + SIGTERM
TERMINATED = 143


def leave_at(notice: Notice) -> float:
    """Return when to end the server, in seconds since 1970, if the user does not confirm before.

    A short notice leaves the last quarter of its time for the end of the server.
    """
    at, deadline = notice.at.timestamp(), notice.deadline.timestamp()
    latest = deadline - min(MARGIN_S, max(0.0, deadline - at) / 4)
    return min(latest, at + STOP_S) if notice.kind == "stop" else latest


class LabServer:
    """The user's server, as a child of this process."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, answer: DoorAnswer, environ: Mapping[str, str]) -> None:
        """Start the server that the Hub asks for; an earlier one is ended first.

        Raises:
            OSError: There is no such program here.
        """
        self.end()
        env = {key: value for key, value in environ.items() if key not in _HIDDEN}
        self._child = subprocess.Popen(
            list(answer.command), env={**env, **answer.env, "HAI_SPOT": "1"}, stdin=subprocess.DEVNULL
        )

    @property
    def exit_code(self) -> int | None:
        """The server's exit status; None while it runs, and before it was started."""
        code = None if self._child is None else self._child.poll()
        return code if code is None or code >= 0 else 128 - code

    def end(self) -> None:
        """End the server: with SIGTERM, so that it can end its kernels, then with SIGKILL."""
        if self._child is None or self._child.poll() is not None:
            return
        self._child.terminate()
        try:
            self._child.wait(END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


class SpotLauncher:
    """One run of a spot container.

    Args:
        job: The task that this process is.
        door: The Hub's handler for spot containers.
        port: The port of the server.
        environ: This process's variables.
        server: The user's server.
        wall: Returns seconds since 1970.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        job: Job,
        door: Door,
        *,
        port: int,
        environ: Mapping[str, str],
        server: LabServer,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._job = job
        self._door = door
        self._port = port
        self._environ = environ
        self._server = server
        self._wall = wall
        self._sleep = sleep
        self._leave_file = Path(environ["HAI_RUNTIME_DIR"]) / LEAVE_FILE
        self._generation: str | None = None
        self._next_knock = self._began = wall()
        self._signalled: float | None = None

    def run(self) -> int:
        """Run the server until it ends or must leave; return the exit status of the command."""
        while True:
            if self._job.should_suspend() and self._is_time():
                return self._leave()
            if (code := self._server.exit_code) is not None:
                return self._ended(code)
            try:
                self._knock_if_due()
            except (DoorRefused, OSError) as error:
                _say(f"this container ends: {error}")
                self._server.end()
                return FAILED
            self._sleep(TICK_S)

    def _knock_if_due(self) -> None:
        now = self._wall()
        # A server that is about to end must not be registered again.
        if now < self._next_knock or (self._generation is not None and self._job.notice() is not None):
            return
        try:
            answer = self._door.knock(self._port, self._generation)
        except HubUnreachable as error:
            if self._generation is None and now - self._began > GIVE_UP_S:
                raise DoorRefused(f"the Hub could not be reached for {GIVE_UP_S / 60:.0f} minutes ({error})") from None
            self._next_knock = now + UNREACHABLE_S
            return
        if answer.generation is None:
            self._next_knock = now + answer.retry_s
            return
        self._next_knock = now + KNOCK_EVERY_S
        if answer.generation != self._generation and answer.command:
            self._generation = answer.generation
            _say(f"JupyterLab starts on port {self._port}")
            self._server.start(answer, self._environ)

    def _is_time(self) -> bool:
        now = self._wall()
        notice = self._job.notice()
        if notice is not None:
            nothing_to_save = self._generation is None
            return nothing_to_save or now >= leave_at(notice) or self._leave_file.exists()
        if self._signalled is None:
            self._signalled = now
        return now - self._signalled >= NOTICE_LATE_S

    def _leave(self) -> int:
        told = self._job.notice() is not None
        try:
            self._door.leave()
        except (HubUnreachable, DoorRefused) as error:
            _say(f"the Hub was not told that this container leaves ({error}); it will notice")
        self._server.end()
        if told:
            self._job.suspended(all_ranks=True)
        return TERMINATED

    def _ended(self, code: int) -> int:
        """Return the exit status after the server's own end: a shutdown by the user, a crash, the end of the rank."""
        if self._job.should_suspend():
            return self._leave()
        _say(f"JupyterLab ended with status {code}")
        return code


def free_port(wanted: int) -> int:
    """Return the wanted port, or any free port for 0. Raises OSError: the wanted port is in use."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("", wanted))
        return int(probe.getsockname()[1])


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Run the command of a spot container's task; return its exit status."""
    missing = [name for name in ("HAI_SPOT_URL", "HAI_TOKEN_FILE", "HAI_RUNTIME_DIR") if not environ.get(name)]
    if missing:
        _say(f"{', '.join(missing)} is not set: this is the command of a spot container, which the Hub submits")
        return 2
    try:
        token = Path(environ["HAI_TOKEN_FILE"]).read_text(encoding="ascii").strip()
        door = Door(environ["HAI_SPOT_URL"], token, environ.get("HAI_SPOT_SERVER", ""))
        port = free_port(int(environ.get("HAI_SPOT_PORT") or 0))
    except (OSError, ValueError) as error:
        _say(f"cannot start: {error}")
        return FAILED
    return SpotLauncher(Job(environ), door, port=port, environ=environ, server=LabServer()).run()


def _say(text: str) -> None:
    now = datetime.now(timezone.utc).strftime("%H:%M:%S")
    print(f"hai: {now} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
