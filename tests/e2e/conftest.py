"""The whole platform as real processes, started as `make up` starts it, on its own port and state folder."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hai_client import Client
from kit.ports import free_port
from kit.waiting import PATIENCE, wait_for

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
#: The example training, held until a file exists.
HELD = Path(__file__).with_name("held_digits.py")


def processes_with(text: str) -> dict[int, str]:
    """The command lines, by pid, of the processes with that text in their arguments."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if text in line and int(entry.name) != os.getpid():
                found[int(entry.name)] = line
    return found


@dataclass
class Platform:
    """One running platform and its users' logins."""

    home: Path
    #: 0: a file among `options` describes them.
    nodes: int
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[str] | None = None
    tokens: dict[str, str] = field(default_factory=dict)
    #: Further options of `hai up`.
    options: tuple[str, ...] = ()
    #: The path below which they put it, without a slash at the end.
    below: str = ""
    #: The programs of the environment that it is started from.
    bin: Path = BIN
    #: The umask of who starts it; -1: that of the tests.
    umask: int = -1

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.below}"

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def env(self) -> dict[str, str]:
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("HAI_", "JUPYTER", "XDG_"))}
        return keep | {"XDG_CONFIG_HOME": str(self.home / "config"), "XDG_STATE_HOME": str(self.home / "xdg-state")}

    def launch(self) -> Callable[[], bool]:
        """Start the process; returns a function that tells whether the process has said that it is ready."""
        output = self.home / "up.log"
        command = [str(self.bin / "hai"), "up", "--port", str(self.port), "--state-dir", str(self.state)]
        command += ["--user", "ann", "--password", "a long enough word", *self.options]
        if self.nodes:
            command += ["--nodes", str(self.nodes)]
        with output.open("a") as log:
            began = log.tell()
            self.process = subprocess.Popen(
                command, env=self.env, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                cwd=ROOT, start_new_session=True, umask=self.umask,
            )  # fmt: skip

        def ready() -> bool:
            assert self.process is not None
            text = output.read_text()[began:]
            if self.process.poll() is not None:
                pytest.fail(f"hai up ended with {self.process.returncode}:\n{text}")
            return "hai submit" in text and self.url in text

        return ready

    def start(self) -> None:
        """Start the platform and wait until it says that it is ready."""
        wait_for("hai up to be ready", self.launch())

    def interrupt(self, seconds: float = PATIENCE) -> str:
        """Send Ctrl-C, and wait for the end; returns the output."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(seconds)
        return (self.home / "up.log").read_text()

    def end(self) -> None:
        """End the platform in any state, and leave no process behind."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        for pid in processes_with(str(self.home)):
            os.kill(pid, signal.SIGKILL)

    def hai(
        self, *words: str, user: str = "ann", cwd: Path = ROOT, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run the `hai` command as in a terminal of that user."""
        env = self.env
        if user != "ann":
            env |= {"HAI_URL": self.url, "HAI_TOKEN": self.token(user)}
        done = subprocess.run(
            [str(self.bin / "hai"), *words],
            env=env,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if check and done.returncode != 0:
            pytest.fail(f"hai {' '.join(words)} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return done

    def json(self, *words: str, user: str = "ann") -> Any:
        """The parsed output of `hai ... --json`."""
        return json.loads(self.hai("--json", *words, user=user).stdout)

    def token(self, user: str) -> str:
        """Add the user as an admin does; returns a token of the user."""
        if user not in self.tokens:
            if user == "ann":
                self.tokens[user] = json.loads((self.home / "config/hai/config.json").read_text())["token"]
            else:
                made = self.json("admin", "user", "add", user, "--token")
                self.tokens[user] = made["token"]
        return self.tokens[user]

    def ask_hub(self, method: str, path: str, body: object = None, *, token: str = "") -> Any:
        """The Hub's answer as JSON to the owner of the token, else to the admin ann. A refusal fails with its words."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Authorization": f"token {token or self.token('ann')}", "Content-Type": "application/json"}
        try:
            sent = None if body is None else json.dumps(body).encode()
            connection.request(method, f"{self.below}/hub/api{path}", sent, headers)
            answer = connection.getresponse()
            content = answer.read().decode()
            assert answer.status < 400, f"{method} {path} was answered with {answer.status}: {content[:300]}"
            return json.loads(content or "null")
        finally:
            connection.close()

    def client(self, user: str = "ann") -> Client:
        return Client(self.url, self.token(user))

    def service_pid(self, role: str = "api") -> int:
        """The id of the scheduler's process with that role, `loop` or `api`."""
        words = f"-m hai_scheduler --role {role}"
        found = [pid for pid, line in processes_with(str(self.state)).items() if words in line]
        assert len(found) == 1, found
        return found[0]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of four nodes for a module's tests."""
    made = Platform(tmp_path_factory.mktemp("platform"), nodes=4)
    try:
        made.start()
        yield made
    finally:
        made.end()
