"""A real Hub whose servers are tasks of a scheduler that the test plays, and real launchers that the test starts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from kit.ports import free_port
from kit.waiting import PATIENCE, wait_for

API = "/services/hai/api/v1"
#: A JupyterLab server, as far as the Hub can tell: it answers, with its process id.
SINGLE_USER = """
import http.server, json, os, sys
from urllib.parse import urlsplit
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("X-JupyterHub-Version", "6.1.1")
        self.end_headers()
        names = ("JUPYTERHUB_SERVER_NAME", "JUPYTERHUB_USER", "HAI_SPOT", "HAI_TASK_ID")
        self.wfile.write(json.dumps({"pid": os.getpid(), **{n: os.environ.get(n) for n in names}}).encode())
    def log_message(self, *_):
        pass
address = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
http.server.ThreadingHTTPServer((address.hostname, address.port), Answers).serve_forever()
"""
CONFIG = """
import sys
from hai_hub.config.roles import CUSTOM_SCOPES, USER_SCOPES
from hai_hub.config.spot import install_spot
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub_port}"
c.JupyterHub.db_url = "sqlite:///{home}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{home}/cookie_secret"
c.JupyterHub.proxy_class = "hai_spawner.proxy.embedded.EmbeddedProxy"
c.JupyterHub.spawner_class = "hai_spawner.spot.local.HaiSpotLocalSpawner"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.cleanup_servers = False
# Requests are answered at once: what becomes of a server is asked.
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 0, "slow_stop_timeout": 0}}
# One start at a time: those that wait in the queue do not count.
c.JupyterHub.concurrent_spawn_limit = 1
c.JupyterHub.custom_scopes = CUSTOM_SCOPES
c.JupyterHub.extra_user_scopes = set(USER_SCOPES)
c.JupyterHub.services = [
    {{"name": "hai", "api_token": "service-token"}},
    {{"name": "test", "api_token": "test-token"}},
]
c.JupyterHub.load_roles = [{{
    "name": "test", "services": ["test"], "scopes": ["admin:users", "admin:servers", "access:servers"]
}}]
c.HaiLocalSpawner.home_root = "{home}/home"
c.HaiLocalSpawner.hai_api_url = "{api}"
c.HaiLocalSpawner.cmd = [sys.executable, "{home}/single_user.py"]
c.SpotServer.look_every = 0.2
c.SpotServer.poll_interval = 1
install_spot(c, "{api}")
"""


class Scheduler:
    """One user's tasks; the test says when one has its turn."""

    def __init__(self) -> None:
        self.tasks: dict[int, dict[str, Any]] = {}
        self.submitted: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.away = False
        scheduler = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(None)

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                self.answer(json.loads(self.rfile.read(length)) if length else None)

            def answer(self, body: Any) -> None:
                token = self.headers["Authorization"].removeprefix("Bearer ")
                status, found = scheduler.answer(self.command, self.path.removeprefix(API), token, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(found).encode())

            def log_message(self, *_: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}{API}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, method: str, path: str, token: str, body: Any) -> tuple[int, Any]:
        if self.away:
            return 503, {"detail": "away"}
        if path.startswith("/runs/"):
            return self.facts(path.removeprefix("/runs/"), token)
        self.calls.append(f"{method} {path}")
        if path == "/tasks":
            self.submitted.append(body)
            task = {"id": len(self.submitted), "state": "queued", "held": False, "runs": [], "message": "Waits."}
            self.tasks[int(str(task["id"]))] = {**task, "name": body["name"]}
            return 201, task
        number, _, verb = path.removeprefix("/tasks/").partition("/")
        found = self.tasks.get(int(number))
        if found is None:
            return 404, {"detail": "There is no such task."}
        if verb == "stop":
            found |= {"state": "stopped", "message": "Stopped by its owner."}
        elif verb == "resume":
            found["held"] = False
        elif verb == "explain":
            verdict = {"position": 2, "earliest_start": "2026-11-21T12:34:56Z"}
            return 200, {
                "task_id": found["id"],
                "state": found["state"],
                "sentence": "Needs 1 node.",
                "verdict": verdict,
            }
        return 200, found

    def facts(self, run: str, token: str) -> tuple[int, Any]:
        task = self.tasks.get(int(run.partition(".")[0]))
        if token != f"run:{run}:abc123":
            return 401, {}
        if task is None or not task["runs"] or task["runs"][-1]["id"] != run or task["state"] != "running":
            return 410, {}
        facts = {"run_id": run, "task_id": task["id"], "number": 1, "name": task["name"], "user": "ann"}
        return 200, {**facts, "state": task["state"], "node": "n-1", "address": "127.0.0.1"}

    def start(self, number: int) -> str:
        """Give a task its turn; its run."""
        task = self.tasks[number]
        run = f"{number}.{len(task['runs']) + 1}"
        task["runs"].append({"id": run, "ended_at": None})
        task["state"] = "running"
        return run

    def suspend(self, number: int) -> None:
        """End a task's turn."""
        task = self.tasks[number]
        task["runs"][-1]["ended_at"] = "2026-11-21T12:00:00Z"
        task["state"] = "suspended"


@dataclass
class Rig:
    """Hub, scheduler and launchers."""

    home: Path
    scheduler: Scheduler = field(default_factory=Scheduler)
    port: int = field(default_factory=free_port)
    hub_port: int = field(default_factory=free_port)
    hub: subprocess.Popen[bytes] | None = None
    launchers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.home / "single_user.py").write_text(SINGLE_USER)
        text = CONFIG.format(home=self.home, port=self.port, hub_port=self.hub_port, api=self.scheduler.url)
        (self.home / "config.py").write_text(text)

    def start_hub(self) -> None:
        command = [sys.executable, "-P", "-m", "hai_hub.up.hub", "-f", str(self.home / "config.py")]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "JUPYTERHUB_"))}
        with (self.home / "hub.log").open("ab") as log:
            self.hub = subprocess.Popen(
                command, env=env, cwd=self.home, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )

        def up() -> bool:
            assert self.hub is not None
            assert self.hub.poll() is None, (self.home / "hub.log").read_text()[-3000:]
            with contextlib.suppress(OSError):
                return self.ask("GET", "/hub/api/users")[0] == 200
            return False

        wait_for("the Hub", up)

    def kill_hub(self) -> None:
        assert self.hub is not None
        self.hub.kill()
        self.hub.wait()

    def ask(self, method: str, path: str, body: object = None, *, token: str = "test-token") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"http://127.0.0.1:{self.port}{path}", data=data, headers=headers, method=method)
        try:
            with urlopen(request, timeout=PATIENCE) as answer:
                status, text = answer.status, answer.read()
        except HTTPError as error:
            with error:
                status, text = error.code, error.read()
        try:
            return status, json.loads(text or b"null")
        except ValueError:
            return status, text.decode()

    @property
    def path(self) -> str:
        return "/hub/api/users/ann/servers/gpu"

    def server(self) -> dict[str, Any]:
        """The server as the Hub shows it; empty while it is not active."""
        found: dict[str, Any] = self.ask("GET", "/hub/api/users/ann")[1]["servers"].get("gpu", {})
        return found

    def request(self, **spot: object) -> None:
        status, said = self.ask("POST", self.path, {"user_options": {"spot": spot}})
        assert status in (201, 202), said

    def kept(self) -> bool:
        """Whether the Hub's database names the task of the server: a Hub that is killed later knows it again."""
        with contextlib.closing(sqlite3.connect(f"file:{self.home}/hub.sqlite?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT state FROM spawners WHERE name = 'gpu'").fetchall()
        return any(json.loads(state or "null") and '"task"' in state for (state,) in rows)

    def lab(self) -> dict[str, Any]:
        """What the server behind the proxy says."""
        status, found = self.ask("GET", "/user/ann/gpu/")
        assert status == 200, found
        return dict(found)

    def launch(self, run: str) -> subprocess.Popen[bytes]:
        """What a cluster does: run the task's command, with what a rank sees."""
        folder = self.home / run
        (folder / "reports").mkdir(parents=True)
        (folder / "token").write_text(f"run:{run}:abc123\n")
        task = self.scheduler.submitted[int(run.partition(".")[0]) - 1]
        env = {
            "PATH": os.environ["PATH"],
            **task["env"],
            "HAI_TASK_ID": run.partition(".")[0],
            "HAI_RUNTIME_DIR": str(folder),
            "HAI_TOKEN_FILE": str(folder / "token"),
        }
        with (folder / "log").open("wb") as log:
            child = subprocess.Popen(
                task["command"], env=env, cwd=task["cwd"], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.launchers.append(child)
        return child

    def kill(self, child: subprocess.Popen[bytes]) -> None:
        """What a supervisor does: end the rank, with all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(30)

    def clean(self) -> None:
        """Everything as before the first test, but for the Hub's log."""
        self.scheduler.away = False
        for child in self.launchers:
            self.kill(child)
        self.launchers.clear()
        for folder in self.home.glob("*.*/reports"):
            shutil.rmtree(folder.parent)
        if "gpu" in self.ask("GET", "/hub/api/users/ann?include_stopped_servers")[1]["servers"]:
            self.ask("DELETE", self.path, {"remove": True})

        def removed() -> bool:
            return "gpu" not in self.ask("GET", "/hub/api/users/ann?include_stopped_servers")[1]["servers"]

        wait_for("the server to be removed", removed)
        self.scheduler.tasks.clear()
        self.scheduler.submitted.clear()

    def end(self) -> None:
        for child in self.launchers:
            self.kill(child)
        if self.hub is not None:
            self.kill_hub()
        self.scheduler.http.shutdown()
        self.scheduler.http.server_close()

    def secrets(self) -> set[str]:
        """Tokens that stand in the Hub's log or in what launchers wrote; there must be none."""
        texts = [path.read_text() for path in (self.home / "hub.log", *self.home.glob("*/log"))]
        return {found for text in texts for found in re.findall(r"abc123|test-token|service-token", text)}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    made = Rig(tmp_path_factory.mktemp("hub"))
    try:
        made.start_hub()
        assert made.ask("POST", "/hub/api/users/ann")[0] == 201
        yield made
    finally:
        made.end()


@pytest.fixture
def rig(running: Rig) -> Iterator[Rig]:
    """A Hub that knows Ann, who has no server."""
    yield running
    running.clean()
