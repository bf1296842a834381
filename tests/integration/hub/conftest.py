"""`hai up` as a real process: JupyterHub, the proxy inside it and the spawner are real, the service and Lab are not."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kit.ports import free_port
from kit.waiting import wait_for

STANDIN = Path(__file__).with_name("standin")
READY = "Ctrl-C stops everything"


@dataclass
class Up:
    """A running `hai up`, and what a test can see of it."""

    home: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        command = json.dumps([sys.executable, str(STANDIN / "single_user.py")])
        (self.home / "hub.toml").write_text(f"[HaiLocalSpawner]\ncmd = {command}\n")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def output(self) -> str:
        return (self.home / "output.txt").read_text()

    @property
    def password(self) -> str:
        found = re.search(r"^  password +(\S+)", self.output, re.MULTILINE)
        assert found is not None
        return found.group(1)

    @property
    def login(self) -> dict[str, str]:
        content: dict[str, str] = json.loads((self.home / "config" / "hai" / "config.json").read_text())
        return content

    @property
    def calls(self) -> list[dict[str, str]]:
        """What the service has been asked, without looks at its health."""
        file = self.state / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def command(self, *words: str) -> list[str]:
        code = "import sys; from hai_hub.up.command import command; sys.exit(command(sys.argv[1:]))"
        given = ["--state-dir", str(self.state), "--port", str(self.port), "--user", "ann"]
        return [sys.executable, "-c", code, *given, "--hub-config", str(self.home / "hub.toml"), *words]

    @property
    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("HAI_", "JUPYTERHUB_"))}
        return kept | {"XDG_CONFIG_HOME": str(self.home / "config"), "PYTHONPATH": str(STANDIN), "SECRET_OF_MINE": "x"}

    def archive(self, *names: str) -> None:
        """Let the scheduler service say from now on that these users are archived, and no others."""
        (self.state / "archived.json").write_text(json.dumps(names))

    def add(self, name: str) -> str:
        """Add a user; returns their password."""
        command = [sys.executable, "-m", "hai_client", "admin", "user", "add", name]
        made = subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=120, check=True)
        return made.stdout.strip()

    async def token_of_an_admin(self) -> str:
        """Return a token that may change users, their tokens and servers."""
        wanted = {"scopes": ["servers", "tokens", "admin:users", "list:users"]}
        async with self.api(self.login["token"]) as api, api.post("/hub/api/users/ann/tokens", json=wanted) as answer:
            assert answer.status == 201
            return str((await answer.json())["token"])

    def launch(self, *words: str) -> subprocess.Popen[bytes]:
        """Start it as a shell starts what is put into the background: with SIGINT ignored."""
        with (self.home / "output.txt").open("wb") as output:
            self.process = subprocess.Popen(
                self.command(*words),
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
            )
        return self.process

    def start(self, *words: str) -> None:
        """Start the platform and wait until it is ready."""
        process = self.launch(*words)

        def ready() -> bool:
            if process.poll() is not None:
                pytest.fail(f"hai up ended with {process.returncode}:\n{self.output}")
            return READY in self.output

        wait_for("hai up", ready)

    def send(self, number: signal.Signals) -> int:
        """Send a signal and wait for the end; returns the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    def left(self) -> dict[int, str]:
        """The command lines, by pid, of the processes that name this folder."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                if str(self.home).encode() in line + (entry / "environ").read_bytes():
                    found[int(entry.name)] = line.decode()
        return found

    def service_pid(self, role: str = "api") -> int | None:
        """The scheduler's process of that role."""
        pids = [pid for pid, line in self.left().items() if f"-m hai_scheduler --role {role}" in line]
        return pids[0] if len(pids) == 1 else None

    def hub_pid(self) -> int | None:
        pids = [pid for pid, line in self.left().items() if "-m hai_hub.up.hub " in line]
        return pids[0] if len(pids) == 1 else None

    def server_pid(self) -> int | None:
        pids = [pid for pid, line in self.left().items() if "single_user.py" in line]
        return pids[0] if len(pids) == 1 else None

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.send(signal.SIGTERM)
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @contextlib.asynccontextmanager
    async def api(self, token: str | None = None) -> Any:
        """A client of the platform."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(self.url, headers=headers) as client:
            yield client

    async def log_in(self, user: str, password: str) -> tuple[int, aiohttp.ClientSession]:
        """Fill in the login form; the status of the answer, and the session with its cookies."""
        client = aiohttp.ClientSession(self.url, cookie_jar=aiohttp.CookieJar(unsafe=True))
        async with client.get("/hub/login") as page:
            found = re.search(r'name="_xsrf" value="([^"]*)"', await page.text())
        assert found is not None
        form = {"username": user, "password": password, "_xsrf": found.group(1)}
        async with client.post("/hub/login", data=form, allow_redirects=False) as answer:
            return answer.status, client


@pytest.fixture(scope="module")
def up_class() -> type[Up]:
    """For tests that need a platform of their own making."""
    return Up


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A platform for the tests of a module."""
    made = Up(tmp_path_factory.mktemp("up") / "home")
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Up]:
    """A platform that a test starts and stops itself."""
    made = Up(tmp_path / "home")
    try:
        yield made
    finally:
        made.end()
