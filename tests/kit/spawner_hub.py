"""A real Hub on this machine whose servers are pods of a real cluster."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kit.ports import free_port

GPU = os.environ.get("HAI_TEST_GPU_RESOURCE", "nvidia.com/gpu")
#: Every node has this label: the tests need no node of their own.
GROUP_LABEL, GROUP = "kubernetes.io/os", "linux"
SIZES = {
    "small": {"cpu": "100m", "cpu_limit": 2, "memory": "512Mi", "lifetime": "12h"},
    "vast": {"cpu": "100m", "memory": "512Mi", "resource": GPU, "count": 999},
    "closed": {"cpu": "100m", "memory": "512Mi", "allow": {"groups": ["nobody"]}},
}
#: The scheduler service's answer to `GET /container-config`: mounts and environments of a user.
CONTAINER_CONFIG = {
    "user": "ann",
    "groups": [],
    "identity": None,
    "node_group": "jupyter",
    "mounts": [
        {
            "rule": "usr",
            "kind": "host_path",
            "source": "/usr",
            "sub_path": "",
            "mount_path": "/mnt/{usr}",
            "read_only": True,
        },
    ],
    "left_out": [],
    "environments": [
        {
            "name": "plain",
            "description": "",
            "image": None,
            "python": None,
            "variables": {"SAID": "{yes}"},
            "default": True,
        },
    ],
    "warnings": ["This is a test."],
    "haienvs": None,
}


def address_towards(node_ip: str) -> str:
    """The address of this machine that the cluster can answer to."""
    if given := os.environ.get("HAI_TEST_HUB_IP"):
        return given
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((node_ip, 9))
        return str(probe.getsockname()[0])


class _ContainerConfigs(http.server.BaseHTTPRequestHandler):
    """Stands in for the scheduler service."""

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Bearer spawner-token" and "user=" in self.path
        body = json.dumps(CONTAINER_CONFIG if known else {}).encode()
        self.send_response(200 if known else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        """Take what the spawner tells of its servers."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204 if self.headers["Authorization"] == "Bearer spawner-token" else 403)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextlib.contextmanager
def container_configs() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _ContainerConfigs)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Hub:
    """A Hub process, with requests to it. `kubeconfig` is of its account."""

    folder: Path
    ip: str
    namespace: str
    kubeconfig: str
    image: str
    api_url: str
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        self.port, self.hub_port = free_port("127.0.0.1"), free_port(self.ip)
        (self.folder / "spawner_token").write_text("spawner-token")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        lines = (self.folder / "hub.log").read_text().splitlines(keepends=True)
        return "".join(line for line in lines if " 200 GET " not in line)[-6000:]

    def config(self) -> dict[str, dict[str, Any]]:
        hub = f"http://{self.ip}:{self.hub_port}"
        scopes = ["admin:users", "admin:servers", "access:servers", "servers"]
        return {
            "JupyterHub": {
                "authenticator_class": "dummy",
                "bind_url": f"http://127.0.0.1:{self.port}",
                "hub_bind_url": hub,
                "hub_connect_url": hub,
                "proxy_class": "hai_spawner.proxy.embedded.EmbeddedProxy",
                "spawner_class": "hai_spawner.containers.kube.HaiKubeSpawner",
                "services": [{"name": "tests", "api_token": self.token}],
                "load_roles": [{"name": "tests", "scopes": scopes, "services": ["tests"]}],
            },
            "Authenticator": {"allow_all": True},
            "HaiKubeSpawner": {
                "ask_scheduler": True,
                "cmd": ["python3", "-m", "jupyterhub.singleuser"],
                "default_url": "/tree",
                "environment": {"HOME": "/tmp", "JUPYTERHUB_SINGLEUSER_APP": "jupyter_server.serverapp.ServerApp"},
                "group_label": GROUP_LABEL,
                "groups": [GROUP],
                "http_timeout": 120,
                "image": self.image,
                "image_pull_policy": "IfNotPresent",
                "limits": {"small": {"user": 1}},
                "namespace": self.namespace,
                "scheduler_api_url": self.api_url,
                "scheduler_token_file": str(self.folder / "spawner_token"),
                "sizes": SIZES,
                "start_timeout": 180,
            },
        }

    def start(self) -> None:
        file = self.folder / "jupyterhub_config.py"
        lines = ["c = get_config()"]
        for section, traits in self.config().items():
            lines += [f"c.{section}.{trait} = {value!r}" for trait, value in traits.items()]
        file.write_text("\n".join(lines) + "\n")
        with (self.folder / "hub.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "hai_hub.up.hub", "-f", str(file)],
                cwd=self.folder,
                env={**os.environ, "KUBECONFIG": self.kubeconfig},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def end(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Send a request through the proxy, with the token of the tests; returns status and body."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self.port}", headers=headers) as session:  # noqa: SIM117
            async with session.request(method, path, **options) as answer:
                text = await answer.text()
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, text

    async def page(self, user: str, path: str) -> str:
        """The text of a page of the Hub as a logged-in user sees it."""
        cookies = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self.port}", cookie_jar=cookies) as session:
            async with session.get("/hub/login") as answer:
                found = re.search(r'name="_xsrf" value="([^"]*)"', await answer.text())
            assert found is not None
            form = {"username": user, "password": "x", "_xsrf": found.group(1)}
            async with session.post("/hub/login", data=form, allow_redirects=False) as answer:
                assert answer.status == 302
            async with session.get(path) as answer:
                return await answer.text()

    async def until_up(self) -> None:
        assert self.process is not None
        async with asyncio.timeout(240):
            while True:
                if self.process.poll() is not None:
                    pytest.fail(f"the Hub ended with {self.process.returncode}:\n{self.log}")
                with contextlib.suppress(aiohttp.ClientError, OSError):
                    if (await self.ask("GET", "/hub/api/"))[0] == 200:
                        return
                await asyncio.sleep(0.2)

    async def until(self, user: str, *, ready: bool, seconds: float = 200) -> dict[str, Any]:
        """Wait until the user's server is ready, or if not `ready` until it is gone; returns its model or {}."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            _, model = await self.ask("GET", f"/hub/api/users/{user}")
            servers: dict[str, Any] = model["servers"]
            if ready and servers.get("", {}).get("ready"):
                return dict(servers[""])
            if not servers and not ready:
                return {}
            if ready and not servers:
                pytest.fail(f"the server of {user} did not start:\n{self.log}")
            await asyncio.sleep(0.3)
        pytest.fail(f"waited {seconds:.0f} s for the server of {user}:\n{self.log}")
