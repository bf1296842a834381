"""A spot container's life: it waits in the queue, gets the node, is told to leave, comes back, and is stopped."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.conftest import Platform
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.e2e

OVERRIDES = """
[SpotServer]
poll_interval = 1
look_every = 0.5
"""
HOLDS_THE_NODE = ("python", "-c", "import time; time.sleep(600)")
SERVER = "gpu"


class Ann:
    """A client of the user ann: the Hub's REST interface, and ann's servers through the proxy, with ann's token."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        body = {"note": "test", "auth": {"username": "ann", "password": "a long enough word"}}
        self._token = ""
        status, made = self.ask("POST", "/hub/api/users/ann/tokens", body)
        assert status == 201, made
        self._token = made["token"]

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and JSON of an answer; the text where it is none."""
        connection = http.client.HTTPConnection(urlsplit(self._platform.url).netloc, timeout=PATIENCE)
        headers = {"Authorization": f"token {self._token}"} if self._token else {}
        try:
            sent = None if body is None else json.dumps(body).encode()
            connection.request(method, path, sent, {**headers, "Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            try:
                return answer.status, json.loads(text or "null")
            except ValueError:
                return answer.status, text
        finally:
            connection.close()

    def server(self) -> dict[str, Any]:
        """Ann's spot server as the Hub shows it; empty while it is not active."""
        status, user = self.ask("GET", "/hub/api/users/ann")
        assert status == 200, user
        found: dict[str, Any] = user["servers"].get(SERVER, {})
        return found

    def wait_until_ready(self) -> None:
        wait_for("the server to be ready", lambda: self.server().get("ready"))

    def spot(self) -> dict[str, Any]:
        """The answer of the Lab's server extension about the spot container."""
        status, found = self.ask("GET", f"/user/ann/{SERVER}/hai-lab/spot")
        assert status == 200, found
        return dict(found)

    def first_words(self, wanted: str) -> list[str]:
        """Messages of the page that shows while the server starts, up to one that holds a text."""
        connection = http.client.HTTPConnection(urlsplit(self._platform.url).netloc, timeout=PATIENCE)
        messages = []
        try:
            path = f"/hub/api/users/ann/servers/{SERVER}/progress"
            connection.request("GET", path, headers={"Authorization": f"token {self._token}"})
            answer = connection.getresponse()
            while wanted not in (messages or [""])[-1]:
                line = answer.readline()
                assert line, messages
                if line.startswith(b"data:"):
                    messages.append(json.loads(line[5:])["message"])
        finally:
            connection.close()
        return messages


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of one node."""
    home: Path = tmp_path_factory.mktemp("platform")
    overrides = home / "hub.toml"
    overrides.write_text(OVERRIDES)
    made = Platform(home, nodes=1, options=("--hub-config", str(overrides)))
    try:
        made.start()
        yield made
    finally:
        made.end()


def submit(platform: Platform, name: str, priority: str) -> int:
    words = ["submit", "--nodes", "1", "--priority", priority, "--name", name, "--", *HOLDS_THE_NODE]
    return int(platform.json(*words, user="bob")["id"])


def task_of(platform: Platform) -> dict[str, Any]:
    shown: dict[str, Any] = platform.json("status", f"spot-{SERVER}")
    return shown


def wait_for_state(platform: Platform, task: int, user: str, *states: str) -> None:
    wait_for(f"task {task} to be {states}", lambda: platform.client(user).task(task).state in states)


def test_a_spot_container_lives_through_turns(platform: Platform) -> None:
    ann = Ann(platform)
    first = submit(platform, "first", "NORMAL")
    wait_for_state(platform, first, "bob", "running")

    # The server waits, and the page says why.
    path = f"/hub/api/users/ann/servers/{SERVER}"
    status, said = ann.ask("POST", path, {"user_options": {"spot": {"priority": "LOW"}}})
    assert status == 202, said
    messages = ann.first_words("Place 1 in the queue")
    assert "a whole node" in messages[1], messages
    assert "held by" in messages[-1] or "Needs 1 node" in messages[-1], messages
    assert ann.server()["pending"] == "spawn"

    # Its turn comes.
    platform.hai("stop", str(first), user="bob")
    ann.wait_until_ready()
    task = task_of(platform)
    assert (task["state"], task["priority"], task["gpus"]) == ("running", "LOW", None)
    status, found = ann.ask("GET", f"/user/ann/{SERVER}/api/status")
    assert (status, found.get("kernels")) == (200, 0)
    spot = ann.spot()
    assert (spot["spot"], spot["task_id"], spot["notice"]) == (True, task["id"], None)
    assert sorted(task["env"]) == ["HAI_SPOT_PORT", "HAI_SPOT_SERVER", "HAI_SPOT_URL"], "no secret is in the task"
    log = platform.hai("logs", str(task["id"])).stdout
    assert "JupyterLab starts on port" in log
    assert "API_TOKEN" not in log
    assert ann.ask("POST", f"/user/ann/{SERVER}/hai-lab/spot/leave")[0] == 409, "no task needs the node"

    # A task needs the node: the user sees a countdown, and the server runs until the user has saved.
    urgent = submit(platform, "urgent", "HIGH")
    notice = wait_for("the notice in the Lab", lambda: ann.spot()["notice"])
    assert (notice["kind"], notice["reason"]) == ("suspend", "preempted")
    assert ann.spot()["now"] < notice["deadline"]
    assert ann.server()["ready"]
    assert platform.client("bob").task(urgent).state == "queued"
    assert ann.ask("POST", f"/user/ann/{SERVER}/hai-lab/spot/leave")[0] == 200
    wait_for_state(platform, urgent, "bob", "running")
    wait_for("the Hub to forget the server", lambda: not ann.server().get("ready"))
    task = task_of(platform)
    assert (task["state"], task["held"], task["runs"][-1]["left"]) == ("suspended", False, "saved")

    # The server comes back by itself, as the same task and the same server.
    platform.hai("stop", str(urgent), user="bob")
    ann.wait_until_ready()
    again = task_of(platform)
    assert (again["id"], again["state"], len(again["runs"])) == (task["id"], "running", 2)
    assert ann.spot()["notice"] is None

    # Stopping the server stops the task.
    assert ann.ask("DELETE", path)[0] in (202, 204)
    wait_for_state(platform, task["id"], "ann", "stopped")
    wait_for("the Hub to forget the server", lambda: not ann.server())


def test_cancelling_a_start_that_waits_stops_its_task_and_a_stopped_task_ends_its_server(platform: Platform) -> None:
    ann = Ann(platform)
    first = submit(platform, "first", "NORMAL")
    wait_for_state(platform, first, "bob", "running")
    path = f"/hub/api/users/ann/servers/{SERVER}"
    assert ann.ask("POST", path, {"user_options": {"spot": True}})[0] == 202
    ann.first_words("Place 1 in the queue")
    waiting = task_of(platform)["id"]
    assert ann.ask("DELETE", path)[0] in (202, 204)
    wait_for_state(platform, waiting, "ann", "stopped")

    platform.hai("stop", str(first), user="bob")
    wait_for_state(platform, first, "bob", "stopped")
    assert ann.ask("POST", path, {"user_options": {"spot": True}})[0] in (201, 202)
    ann.wait_until_ready()
    task = task_of(platform)["id"]
    assert task != waiting
    platform.hai("stop", str(task))
    wait_for_state(platform, task, "ann", "stopped")
    wait_for("the Hub to forget the server", lambda: not ann.server())


def test_a_platform_that_is_stopped_and_started_brings_the_server_back(platform: Platform) -> None:
    ann = Ann(platform)
    path = f"/hub/api/users/ann/servers/{SERVER}"
    assert ann.ask("POST", path, {"user_options": {"spot": True}})[0] in (201, 202)
    ann.wait_until_ready()
    task = task_of(platform)["id"]
    platform.interrupt()
    platform.start()
    ann.wait_until_ready()
    again = task_of(platform)
    assert (again["id"], again["state"], len(again["runs"])) == (task, "running", 2)
    assert ann.spot()["notice"] is None
    assert ann.ask("DELETE", path)[0] in (202, 204)
    wait_for_state(platform, task, "ann", "stopped")
    wait_for("the Hub to forget the server", lambda: not ann.server())


def test_what_cannot_be_is_refused_with_the_reason(platform: Platform) -> None:
    ann = Ann(platform)
    path = f"/hub/api/users/ann/servers/{SERVER}"
    for options, words in (
        ({"spot": {"gpus": 0}}, "spot.gpus is 0"),
        ({"spot": {"priority": "SOON"}}, "spot.priority is 'SOON'"),
        ({"spot": True, "profile": "large"}, "takes only spot and environment"),
        ({"spot": {"group": "nowhere"}}, "nowhere"),
    ):
        status, said = ann.ask("POST", path, {"user_options": options})
        assert 400 <= status < 500, said
        assert words in said["message"], said
