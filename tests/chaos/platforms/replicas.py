"""Two replicas of loop and API on PostgreSQL and Redis, beside a stand-in for the Hub that says who a token is."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from chaos.platforms.base import ENDS_S, Platform
from chaos.processes import send
from hai_client.errors import HaiError
from hai_client.http import Transport
from kit.databases import PostgresServer
from kit.ports import free_port
from kit.redis_server import RedisServer

PREFIX = "/services/hai/"
_START_S = 120.0
#: A dead replica is started again after this time, seconds, as a kubelet would.
_REVIVE_S = 1.0


class _Hub(BaseHTTPRequestHandler):
    """A stand-in for the Hub's API of tokens: `NAME-token` belongs to the user NAME, with all scopes."""

    def do_GET(self) -> None:
        name = self.headers["Authorization"].split(" ", 1)[1].removesuffix("-token")
        scopes = ["access:services!service=hai", "custom:hai:tasks:write", "custom:hai:admin", "custom:hai:metrics"]
        body = json.dumps({"name": name, "kind": "user", "groups": [], "scopes": scopes}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Log nothing: no test reads it."""


class Replica:
    """One loop and one API, always at the same ports, as on a machine of their own; `process` is the loop's."""

    def __init__(self, name: str, log: Path, words: list[str], environ: dict[str, str]) -> None:
        self.name = name
        self.port, self._health_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log, self._words, self._environ = log, words, environ
        self._quick = Transport(f"{self.url}{PREFIX}api/v1", None, timeout_s=1.0, delays_s=())
        self._loop = Transport(f"http://127.0.0.1:{self._health_port}", None, timeout_s=1.0, delays_s=())
        self._ended: dict[str, float] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The process of the scheduling loop."""
        return self.running.get("loop")

    def launch(self, *roles: str) -> None:
        """Start the processes of `roles`, or both processes if none is named."""
        for role in roles or ("loop", "api"):
            self._ended.pop(role, None)
            words = [sys.executable, "-m", "hai_scheduler", "--role", role, *self._words, "--port", str(self.port)]
            with self._log.open("ab") as log:
                self.running[role] = subprocess.Popen(
                    [*words, "--health-port", str(self._health_port)],
                    env=self._environ,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def dead(self, seconds: float) -> list[tuple[str, int]]:
        """The roles whose processes have been dead for `seconds`, with their exit status."""
        now, found = time.monotonic(), []
        for role, process in self.running.items():
            status = process.poll()
            if status is not None and now - self._ended.setdefault(role, now) > seconds:
                found.append((role, status))
        return found

    def leader(self) -> str | None:
        """Which loop leads, as this loop says: `this`, `another` or `nobody`; None while this loop is not ready."""
        try:
            return str(self._loop.call("GET", "/health/ready")["leader"])
        except (HaiError, KeyError, TypeError):
            return None

    def serves(self) -> bool:
        """Whether the API of this replica answers, and says that all is well."""
        try:
            return bool(self._quick.call("GET", "/health")["status"] == "ok")
        except (HaiError, KeyError, TypeError):
            return False


class Replicas(Platform):
    """Both replicas, and the servers that they share."""

    def __init__(self, home: Path, nodes: int) -> None:
        super().__init__(home, nodes)
        found = PostgresServer.find()
        if isinstance(found, str):
            raise SystemExit(f"--on postgres: {found}")
        self.postgres = found
        self.redis = RedisServer()
        self._hub = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
        self.replicas: list[Replica] = []
        self._ending = False

    @property
    def state(self) -> Path:
        return self.home / "state"

    def start(self) -> None:
        threading.Thread(target=self._hub.serve_forever, name="hub", daemon=True).start()
        self.postgres.start()
        self.redis.start()
        words = ["--state-dir", str(self.state), "--nodes", str(self.nodes), "--config", str(self.config)]
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("HAI_", "JUPYTERHUB_"))}
        environ |= {
            "HAI_DB_URL": self.postgres.url,
            "HAI_REDIS_URL": self.redis.url,
            "HAI_SERVICE_SECRET": secrets.token_hex(32),
            "JUPYTERHUB_API_URL": f"http://127.0.0.1:{self._hub.server_address[1]}/hub/api",
            "JUPYTERHUB_API_TOKEN": "token-of-the-service",
            "JUPYTERHUB_SERVICE_NAME": "hai",
            "JUPYTERHUB_CLIENT_ID": "service-hai",
            "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
            "JUPYTERHUB_OAUTH_ACCESS_SCOPES": '["access:services!service=hai"]',
            "PYTHONUNBUFFERED": "1",
        }
        for name in ("one", "other"):
            self.replicas.append(Replica(name, self.home / f"{name}.log", words, environ))
            self.replicas[-1].launch()
        if not self.wait_healthy(_START_S):
            raise SystemExit(f"the replicas did not become healthy within {_START_S:.0f} s; see {self.home}")

    def tend(self) -> None:
        for replica in self.replicas:
            for role, status in [] if self._ending else replica.dead(_REVIVE_S):
                self.revived.append(f"the {role} of replica {replica.name}, which had ended with status {status}")
                replica.launch(role)

    def urls(self) -> list[str]:
        return [replica.url for replica in self.replicas]

    def token(self, user: str) -> str:
        return f"{user}-token"

    def roles(self) -> tuple[Replica | None, Replica | None]:
        """The leader and the follower, as the loops say; each is None if no loop says so."""
        said = {replica.leader(): replica for replica in self.replicas}
        return said.get("this"), said.get("another")

    def healthy(self) -> bool:
        return any(replica.leader() == "this" for replica in self.replicas) and any(
            replica.serves() for replica in self.replicas
        )

    def end(self) -> None:
        self._ending = True
        processes = [process for replica in self.replicas for process in replica.running.values()]
        for process in processes:
            if process.poll() is None:
                send(process.pid, signal.SIGTERM)
        for process in processes:
            try:
                process.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.redis.remove()
        self.postgres.remove()
        self._hub.shutdown()
        self._hub.server_close()
