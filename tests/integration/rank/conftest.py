"""A bench for the supervisor: real folders, real processes, and a service that is a thread."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hai_client.archive import build
from hai_client.linux.processes import read_environment, read_table, send
from kit import disks
from kit.ports import free_port
from kit.waiting import wait_for

#: Seconds; on a busy machine too, an event that has not come by then never comes.
DEADLINE_S = 60.0


def _printed(log: str) -> list[str]:
    lines = (line.partition(" ")[2] for line in log.splitlines())
    return [line for line in lines if not line.startswith("[hai] told to leave ")]


class FakeService:
    """A stand-in for the service, with the endpoints that a supervisor calls."""

    def __init__(self) -> None:
        self.port = free_port()
        self.reports: list[dict[str, Any]] = []
        self.points: list[dict[str, Any]] = []
        self.tokens: set[str] = set()
        self.polls = 0
        self.refuse_reports = 0
        #: Answers to a rank: addresses of the others and their status; the status for a rank that asks why it is ended.
        self.addresses: list[str] | None = None
        self.wanted = 200
        self.leaving = 204
        self.log = b""
        #: Whether requests that wait for a notice are left waiting, as when no ring announces the notice.
        self.silent = False
        self._notice: dict[str, Any] | None = None
        self._changed = threading.Condition()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/services/hai/api/v1"

    def start(self) -> FakeService:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                return

            def do_GET(self) -> None:
                service.tokens.add(self.headers["Authorization"])
                if "/addresses?" in self.path:
                    self._answer(service.wanted, {"addresses": service._gang()})
                    return
                seen, wait = (int(self.path.split(f"{name}=")[1].split("&")[0]) for name in ("seen", "wait"))
                self._answer(200, service._wait(seen, at_once=wait == 0))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if service.refuse_reports > 0:
                    service.refuse_reports -= 1
                    self._answer(503, {})
                    return
                service.reports.append(body)
                self._answer(service.leaving if body["kind"] == "leaving" else 204, None)

            def do_PUT(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                status = service._put(self.path, data)
                self._answer(status, {"after": 10}, {"Upload-Offset": str(len(service.log))})

            def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
                data = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Type", "application/json")
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                return

        self._server = Server(("127.0.0.1", self.port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            with self._changed:
                self._server.block_on_close = False
                self._changed.notify_all()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def _wait(self, seen: int, *, at_once: bool) -> dict[str, Any]:
        self.polls += 1
        end = time.monotonic() + (0 if at_once else 2)
        with self._changed:
            while self._server is not None:
                told = at_once or not self.silent
                if told and self._notice is not None and self._notice["revision"] > seen:
                    return {"notice": self._notice}
                if not self._changed.wait(max(0, end - time.monotonic())):
                    break
        return {"notice": None}

    def _gang(self) -> list[str] | None:
        with self._changed:
            if self.addresses is None:
                self._changed.wait(0.2)
            return self.addresses

    def _put(self, path: str, data: bytes) -> int:
        if path.endswith("/metrics"):
            self.points += json.loads(data)["points"]
            return 200
        return self._keep(int(path.split("offset=")[1].split("&")[0]), data)

    def _keep(self, offset: int, data: bytes) -> int:
        if offset != len(self.log):
            return 409
        self.log += data
        return 200

    def gather(self, *addresses: str) -> None:
        """Let all ranks be up, at these addresses."""
        with self._changed:
            self.addresses = list(addresses)
            self._changed.notify_all()

    def notify(
        self,
        revision: int = 1,
        deadline: str = "2126-01-01T00:02:00Z",
        reason: str = "turn_over",
        kind: str = "suspend",
        **more: Any,
    ) -> None:
        with self._changed:
            self._notice = {
                **more,
                "kind": kind,
                "reason": reason,
                "message": "its turn was over and a task of equal priority waited",
                "beneficiary": 7,
                "at": "2126-01-01T00:00:00Z",
                "deadline": deadline,
                "revision": revision,
            }
            self._changed.notify_all()

    def kinds(self) -> list[str]:
        return [report["kind"] for report in self.reports]


class Pod:
    """A rank in a pod: a Secret, an environment, and the zip application."""

    def __init__(self, folder: Path, service: FakeService, archive: Path) -> None:
        self.folder = folder
        self.run = folder / "run"
        self.service = service
        self._archive = archive
        self.process: subprocess.Popen[bytes] | None = None
        self.python = sys.executable

    def start(
        self, *command: str, env: dict[str, str] | None = None, task_env: dict[str, str] | None = None, **changes: Any
    ) -> subprocess.Popen[bytes]:
        """Start the container: `env` is its environment, `task_env` the task's variables; the rest is the Secret's."""
        secret = self.folder / "spec"
        secret.mkdir(parents=True, exist_ok=True)
        (secret / "token").write_text("run:41.2:abc")
        spec = {
            "schema": 1,
            "run_id": "41.2",
            "task_id": 41,
            "user": "alice",
            "nodes": ["n-a", "n-b"],
            "command": list(command),
            "cwd": str(self.folder),
            "env": {"HAI_TASK_ID": "41", **(task_env or {})},
            "profile": "sigterm",
            "api_url": self.service.url,
            "master_port": 29500,
            "grace_s": 120,
            "term_wait_s": 0.3,
            **changes,
        }
        (secret / "spec.json").write_text(json.dumps(spec))
        own = {
            "PATH": os.environ["PATH"],
            "HAI_RANK": "1",
            "HAI_NODE_NAME": "n-b",
            "HAI_POD_IP": "10.0.0.2",
            "HAI_GPUS": "0",
            "HAI_TERMINATION_GRACE": "60",
            "HAI_TERMINATION_LOG": str(self.folder / "message"),
            "HAI_RUN_DIR": str(self.run),
            **(env or {}),
        }
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen(
                [self.python, str(self._archive), "rank", "--pod", str(secret)],
                cwd="/",
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return self.process

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(DEADLINE_S)

    def message(self) -> dict[str, Any]:
        """The termination message."""
        path = self.folder / "message"
        return json.loads(path.read_text()) if path.exists() and path.stat().st_size else {}

    def log(self, folder: Path | None = None) -> list[str]:
        """The lines of the log in the pod's folder, without times and without the line with the reason of a notice."""
        parts = sorted((folder or self.run / "log").glob("*.log"))
        return _printed("".join(part.read_text() for part in parts))

    def sent(self) -> list[str]:
        """The lines that the service has got, in the form of `log`."""
        return _printed(self.service.log.decode())

    def clean_up(self) -> None:
        if self.process is not None and self.process.poll() is None:
            # Descendants die with the process, as in a container.
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Bench:
    """The folder of a rank, and the supervisors on it."""

    def __init__(self, folder: Path, service: FakeService) -> None:
        self.folder = folder
        self.service = service
        self.mark = uuid.uuid4().hex
        self.supervisors: list[subprocess.Popen[bytes]] = []

    def prepare(self, *command: str, **changes: Any) -> Bench:
        for part in ("runtime/reports", "log"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUNBUFFERED": "1",
            "HAI_TASK_ID": "41",
            "HAI_RUN_ID": "41.2",
            "HAI_RANK": "0",
            "HAI_RUNTIME_DIR": str(self.folder / "runtime"),
            "MARK": self.mark,
            **changes.pop("env", {}),
        }
        spec = {
            "schema": 1,
            "run_id": "41.2",
            "task_id": 41,
            "rank": 0,
            "node": "node-1",
            "command": list(command),
            "cwd": str(self.folder),
            "env": env,
            "profile": "sigterm",
            "api_url": self.service.url,
            "term_wait_s": 0.3,
            "log_max_bytes": 1 << 20,
            "log_parts": 8,
            **changes,
        }
        (self.folder / "spec.json").write_text(json.dumps(spec))
        (self.folder / "token").write_text("run:41.2:abc")
        return self

    def start(self, *command: str, **changes: Any) -> subprocess.Popen[bytes]:
        if command:
            self.prepare(*command, **changes)
        with (self.folder / "supervisor.log").open("ab") as log:
            supervisor = subprocess.Popen(
                [sys.executable, "-P", "-m", "hai_client.rank", str(self.folder)],
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.supervisors.append(supervisor)
        return supervisor

    def python(self, code: str, **changes: Any) -> subprocess.Popen[bytes]:
        return self.start(sys.executable, "-c", code, **changes)

    def run(self, *command: str, **changes: Any) -> dict[str, Any]:
        """Start a supervisor and wait for its end; returns the last status of the rank."""
        supervisor = self.start(*command, **changes)
        assert supervisor.wait(DEADLINE_S) == 0, (self.folder / "supervisor.log").read_text()
        return self.status()

    def wait(self) -> dict[str, Any]:
        self.supervisors[-1].wait(DEADLINE_S)
        return self.status()

    def status(self) -> dict[str, Any]:
        path = self.folder / "status.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def log(self) -> str:
        parts = sorted((self.folder / "log").glob("*.log"))
        return "".join(part.read_text() for part in parts)

    def lines(self) -> list[str]:
        """The lines of the log, without times and without the line with the reason of a notice."""
        return _printed(self.log())

    def story(self) -> list[str]:
        """All lines of the log, without times."""
        return [line.partition(" ")[2] for line in self.log().splitlines()]

    def printed(self, text: str) -> None:
        """Wait until the log holds a line."""
        wait_for(f"{text!r} to be printed", lambda: text in self.lines())

    def processes(self) -> list[int]:
        """The ids of the processes of the rank, without the supervisor."""
        table = read_table()
        mark = self.mark.encode()
        return [pid for pid in table if read_environment(pid).get(b"MARK") == mark]

    def clean_up(self) -> None:
        for supervisor in self.supervisors:
            if supervisor.poll() is None:
                supervisor.kill()
            supervisor.wait()
        for pid in self.processes():
            send(pid, signal.SIGKILL)


@pytest.fixture
def service() -> Iterator[FakeService]:
    service = FakeService().start()
    yield service
    service.stop()


@pytest.fixture
def bench(tmp_path: Path, service: FakeService) -> Iterator[Bench]:
    bench = Bench(tmp_path / "rank", service)
    yield bench
    bench.clean_up()


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip application."""
    path = tmp_path_factory.mktemp("archive") / "hai.pyz"
    build(path)
    return path


@pytest.fixture
def pod(tmp_path: Path, service: FakeService, archive: Path) -> Iterator[Pod]:
    pod = Pod(tmp_path / "pod", service, archive)
    yield pod
    pod.clean_up()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 512 KiB."""
    with disks.small_disk("512k", mode="1777") as place:
        yield place
