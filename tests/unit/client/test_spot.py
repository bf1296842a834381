"""The command of a spot container's task: when it knocks, what it runs, when it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hai_client.job import Job, Notice
from hai_client.spot import LEAVE_FILE, LabServer, SpotLauncher, free_port, leave_at, main
from hai_client.spot_door import DoorAnswer, DoorRefused, HubUnreachable
from unit.client.spot_hub import Hub, a_hub

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def a_notice(*, grace_s: float = 300, kind: str = "suspend") -> Notice:
    return Notice(
        kind=kind,  # type: ignore[arg-type]
        reason="preempted",
        message="task 7 needs the node",
        beneficiary=7,
        at=NOW,
        deadline=NOW + timedelta(seconds=grace_s),
    )


def seconds(notice: Notice) -> float:
    return leave_at(notice) - NOW.timestamp()


@pytest.mark.parametrize(
    ("kind", "grace_s", "leaves_after"),
    [
        ("suspend", 300, 285),
        ("suspend", 1800, 1785),
        ("suspend", 20, 15),
        ("suspend", 0, 0),
        ("stop", 300, 8),
        ("stop", 8, 6),
    ],
    ids=[
        "long",
        "longest",
        "a quarter of a short one",
        "none at all",
        "stopped for good",
        "stopped with a short grace",
    ],
)
def test_the_server_is_ended_before_the_deadline(kind: str, grace_s: float, leaves_after: float) -> None:
    assert seconds(a_notice(kind=kind, grace_s=grace_s)) == leaves_after


class FakeDoor:
    """A Hub that says what the test has put down; None is a Hub that does not answer."""

    def __init__(self, *answers: DoorAnswer | Exception) -> None:
        self.answers = list(answers)
        self.knocks: list[str | None] = []
        self.left = 0

    def knock(self, port: int, generation: str | None) -> DoorAnswer:
        self.knocks.append(generation)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def leave(self) -> None:
        self.left += 1


class FakeServer:
    def __init__(self) -> None:
        self.started: list[str | None] = []
        self.ended = 0
        self.exit_code: int | None = None

    def start(self, answer: DoorAnswer, environ: object) -> None:
        self.started.append(answer.generation)

    def end(self) -> None:
        self.ended += 1


@dataclass
class Rig:
    """A launcher in a time that the test moves; `script` says what happens when."""

    runtime: Path
    door: FakeDoor
    server: FakeServer = field(default_factory=FakeServer)
    now: float = field(default_factory=NOW.timestamp)
    script: dict[float, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.runtime / "reports").mkdir()
        environ = {"HAI_TASK_ID": "41", "HAI_RUNTIME_DIR": str(self.runtime)}
        self.job = Job(environ, clock=lambda: self.now)
        self.launcher = SpotLauncher(
            self.job,
            self.door,  # type: ignore[arg-type]
            port=4000,
            environ=environ,
            server=self.server,  # type: ignore[arg-type]
            wall=lambda: self.now,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        after = self.now - NOW.timestamp()
        assert after < 3000, "it never ends"
        for at in [at for at in self.script if at <= after]:
            self.script.pop(at)()

    def notice(self, *, grace_s: float = 300, kind: str = "suspend") -> None:
        at = datetime.fromtimestamp(self.now, UTC)
        body = {"kind": kind, "reason": "preempted", "message": "m", "at": at.isoformat()}
        body["deadline"] = (at + timedelta(seconds=grace_s)).isoformat()
        (self.runtime / "notice.json").write_text(json.dumps(body))

    def run(self) -> int:
        try:
            return self.launcher.run()
        except SystemExit as end:
            return int(str(end.code))

    @property
    def after(self) -> float:
        return self.now - NOW.timestamp()

    @property
    def reports(self) -> list[str]:
        return [json.loads(path.read_text())["kind"] for path in sorted((self.runtime / "reports").iterdir())]


SERVE = DoorAnswer(generation="g1", command=("lab",), env={"TOKEN": "t"})


@pytest.fixture(autouse=True)
def sigterm() -> Iterator[None]:
    kept = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, kept)


def test_it_knocks_until_the_hub_is_ready_and_then_now_and_then(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(DoorAnswer(), DoorAnswer(), SERVE, DoorAnswer(generation="g1")))
    rig.script = {40.0: lambda: setattr(rig.server, "exit_code", 0)}
    assert rig.run() == 0
    assert rig.server.started == ["g1"]
    assert rig.door.knocks == [None, None, None, "g1", "g1"]


def test_a_hub_that_counts_on_another_start_gets_it(tmp_path: Path) -> None:
    again = DoorAnswer(generation="g2", command=("lab",), env={})
    rig = Rig(tmp_path, FakeDoor(SERVE, again))
    rig.script = {20.0: lambda: setattr(rig.server, "exit_code", 3)}
    assert rig.run() == 3
    assert rig.server.started == ["g1", "g2"]


def test_a_hub_that_is_away_does_not_end_a_server(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(SERVE, HubUnreachable("ConnectionRefusedError")))
    rig.script = {2000.0: lambda: setattr(rig.server, "exit_code", 0)}
    assert rig.run() == 0
    assert rig.server.ended == 0


def test_a_node_is_not_held_for_a_hub_that_never_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(tmp_path, FakeDoor(HubUnreachable("ConnectionRefusedError")))
    assert rig.run() == 1
    assert 900 < rig.after < 910
    assert "could not be reached for 15 minutes" in capsys.readouterr().out


def test_a_container_that_the_hub_does_not_want_ends_at_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(SERVE, DoorRefused("ann has no such server")))
    assert rig.run() == 1
    assert rig.server.ended == 1


def test_a_notice_leaves_the_server_alone_until_shortly_before_the_deadline(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(SERVE, DoorAnswer(generation="g1")))
    rig.script = {10.0: rig.notice}
    assert rig.run() == 0
    assert rig.after == pytest.approx(295, abs=1)
    assert (rig.door.left, rig.server.ended, rig.reports) == (1, 1, ["done"])


def test_the_user_may_leave_before_the_time_is_over(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(SERVE, DoorAnswer(generation="g1")))
    rig.script = {10.0: rig.notice, 30.0: (tmp_path / LEAVE_FILE).touch}
    assert rig.run() == 0
    assert rig.after == pytest.approx(30, abs=1)
    assert rig.reports == ["done"]


def test_a_container_that_has_not_started_yet_leaves_without_delay(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(DoorAnswer()))
    rig.script = {10.0: rig.notice}
    assert rig.run() == 0
    assert rig.after == pytest.approx(10, abs=1)


def test_a_signal_without_a_notice_is_the_end(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(SERVE, DoorAnswer(generation="g1")))
    rig.script = {10.0: lambda: os.kill(os.getpid(), signal.SIGTERM)}
    assert rig.run() == 143
    assert rig.after == pytest.approx(12, abs=1)
    assert rig.reports == []


def test_a_server_that_is_killed_after_the_notice_counts_as_having_left(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FakeDoor(SERVE, DoorAnswer(generation="g1")))
    rig.script = {10.0: rig.notice, 20.0: lambda: setattr(rig.server, "exit_code", 143)}
    assert rig.run() == 0
    assert rig.reports == ["done"]


# -- the real thing ---------------------------------------------------------------------------------


@pytest.fixture
def hub() -> Iterator[Hub]:
    with a_hub() as made:
        yield made


def test_the_server_gets_the_hubs_environment_and_not_the_runs_token(tmp_path: Path) -> None:
    shown = tmp_path / "env.json"
    code = f"import json, os; open({str(shown)!r}, 'w').write(json.dumps(dict(os.environ)))"
    server = LabServer()
    server.start(
        DoorAnswer(
            generation="g", command=(sys.executable, "-c", code), env={"JUPYTERHUB_API_TOKEN": "t", "PATH": "/hub"}
        ),
        {"HAI_TOKEN_FILE": "/secret", "HAI_SPOT_URL": "http://hub", "CUDA_VISIBLE_DEVICES": "2", "PATH": "/rank"},
    )
    ends = time.monotonic() + 30
    while server.exit_code is None and time.monotonic() < ends:
        time.sleep(0.01)
    env = json.loads(shown.read_text())
    assert (env["JUPYTERHUB_API_TOKEN"], env["PATH"], env["CUDA_VISIBLE_DEVICES"]) == ("t", "/hub", "2")
    assert env["HAI_SPOT"] == "1"
    assert not {"HAI_TOKEN_FILE", "HAI_SPOT_URL"} & set(env)


def test_a_new_start_replaces_the_old_server(tmp_path: Path) -> None:
    server = LabServer()
    sleeper = DoorAnswer(generation="g", command=(sys.executable, "-c", "import time; time.sleep(60)"))
    server.start(sleeper, {})
    assert server.exit_code is None
    server.start(DoorAnswer(generation="h", command=(sys.executable, "-c", "raise SystemExit(4)")), {})
    ends = time.monotonic() + 30
    while server.exit_code is None and time.monotonic() < ends:
        time.sleep(0.01)
    assert server.exit_code == 4
    server.end()


def test_a_wanted_port_that_is_taken_is_an_error() -> None:
    port = free_port(0)
    assert free_port(port) == port


def test_outside_a_task_it_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main({}) == 2
    assert "HAI_SPOT_URL, HAI_TOKEN_FILE, HAI_RUNTIME_DIR is not set" in capsys.readouterr().out


def test_the_whole_command_runs_the_server_and_leaves_when_told(hub: Hub, tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    (runtime / "reports").mkdir(parents=True)
    token = tmp_path / "token"
    token.write_text("run:41.1:abc\n")
    hub.body = {
        "generation": "g",
        "command": [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"],
        "env": {"JUPYTERHUB_API_TOKEN": "very-secret"},
    }
    env = {
        "PATH": os.environ["PATH"],
        "HAI_TASK_ID": "41",
        "HAI_RUNTIME_DIR": str(runtime),
        "HAI_TOKEN_FILE": str(token),
        "HAI_SPOT_URL": hub.url,
        "HAI_SPOT_SERVER": "gpu",
    }
    command = [sys.executable, "-m", "hai_client.spot"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline(), child.stdout.readline()]
        assert "JupyterLab starts on port" in lines[0]
        assert lines[1] == "up\n"
        now = datetime.now(UTC)
        body = {"kind": "suspend", "reason": "preempted", "message": "m", "at": now.isoformat()}
        body["deadline"] = (now + timedelta(minutes=5)).isoformat()
        (runtime / "notice.json").write_text(json.dumps(body))
        child.send_signal(signal.SIGTERM)
        (runtime / LEAVE_FILE).touch()
        rest = child.stdout.read()
        assert child.wait(30) == 0
    assert "very-secret" not in "".join(lines) + rest
    assert [json.loads(path.read_text())["kind"] for path in (runtime / "reports").iterdir()] == ["done"]
    assert [asked[0] for asked in hub.asked][-1] == "DELETE"
