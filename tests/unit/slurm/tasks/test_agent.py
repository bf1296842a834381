"""The agent of a batch job on a node: it starts steps, hands on their output and signals, and ends them."""

from __future__ import annotations

import json
import queue
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hai_slurm.tasks import agent as module
from hai_slurm.tasks.agent import Agent
from hai_slurm.tasks.wire import Closed, Output, WireError

#: A launcher that does what the part of the step says.
LAUNCHER = """
import json, os, signal, sys, time
assert sys.argv[1:] == ["--part"]
part = json.load(sys.stdin)
if "ignore" in part:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
elif "catch" in part:
    signal.signal(signal.SIGUSR1, lambda *_: (print("got USR1", flush=True), os._exit(5)))
if "variables" in part:
    print(json.dumps({name: part["env"].get(name) for name in part["variables"]}), flush=True)
print(part.get("says", "ready"), flush=True)
print("to err", file=sys.stderr, flush=True)
if "wait" in part:
    time.sleep(600)
if "dies" in part:
    os.kill(os.getpid(), part["dies"])
sys.exit(part.get("code", 0))
"""


class Server:
    """The server's side: the orders that the test gives, and what the agent sends."""

    def __init__(self) -> None:
        self.orders: queue.Queue[Any] = queue.Queue()
        self.got: queue.Queue[Any] = queue.Queue()
        self.away = False
        self.closed = False

    def receive(self) -> Any:
        order = self.orders.get()
        if isinstance(order, Exception):
            raise order
        return order

    def send(self, message: dict[str, Any]) -> None:
        if self.away:
            raise Closed
        self.got.put(message)

    def send_output(self, step: int, stream: int, data: bytes) -> None:
        self.send({"step": step, "stream": stream, "data": data.decode()})

    def close(self) -> None:
        self.closed = True

    def start(self, step: int, **part: Any) -> None:
        self.orders.put({"start": step, "part": {"env": {}, **part}})

    def until(self, key: str) -> tuple[dict[str, Any], str]:
        """The next message with this key, and the standard output that came before it."""
        said = ""
        while True:
            message = self.got.get(timeout=60)
            said += message["data"] if message.get("stream") == 1 else ""
            if key in message:
                return message, said

    def until_said(self, text: str) -> str:
        said = ""
        while text not in said:
            said += self.until("data")[1]
        return said


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def agent(server: Server, tmp_path: Path) -> Agent:
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    return Agent(server, 1, [sys.executable, str(tmp_path / "launcher.py")])  # type: ignore[arg-type]


@pytest.fixture
def serving(server: Server, agent: Agent) -> Iterator[Future[int | None]]:
    """The agent at work; ended with the job at the end of the test."""
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(agent.serve)
        assert server.got.get(timeout=60) == {"role": "node", "node": 1}
        yield work
        server.orders.put({"over": 0})


def test_a_step_is_started_its_output_handed_on_and_its_status_told(server: Server, serving: object) -> None:
    server.start(3, code=7)
    ended, said = server.until("ended")
    assert ended == {"ended": 3, "code": 7}
    assert said == "ready\n"


def test_the_streams_are_told_apart(server: Server, serving: object) -> None:
    server.start(3)
    found: dict[int, str] = {}
    while "ended" not in (message := server.got.get(timeout=60)):
        found[message["stream"]] = found.get(message["stream"], "") + message["data"]
    assert found == {1: "ready\n", 2: "to err\n"}


def test_a_launcher_that_dies_of_a_signal_has_its_usual_status(server: Server, serving: object) -> None:
    server.start(3, dies=signal.SIGKILL)
    assert server.until("ended")[0] == {"ended": 3, "code": 137}


def test_steps_run_side_by_side(server: Server, serving: object) -> None:
    server.start(1, wait=True, says="one")
    server.until_said("one")
    server.start(2, code=4)
    assert server.until("ended")[0] == {"ended": 2, "code": 4}
    server.orders.put({"end": 1})
    assert server.until("ended")[0] == {"ended": 1, "code": 143}


def test_a_signal_reaches_the_launcher_of_its_step(server: Server, serving: object) -> None:
    server.start(3, wait=True, catch=True)
    server.until_said("ready")
    server.orders.put({"step": 4, "signal": int(signal.SIGKILL)})
    server.orders.put({"step": 3, "signal": int(signal.SIGUSR1)})
    ended, said = server.until("ended")
    assert (ended["code"], "got USR1" in said) == (5, True)


def test_what_stays_after_its_end_is_asked_for_is_killed(
    server: Server, serving: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []

    def kill_below(pid: int, number: int) -> int:
        # The tasks are below the launcher, which ends with them; here it is alone.
        killed.append(number)
        module.os.kill(pid, number)
        return 1

    monkeypatch.setattr(module, "END_S", 0.01)
    monkeypatch.setattr(module, "signal_below", kill_below)
    server.start(3, wait=True, ignore=True)
    server.until_said("ready")
    server.orders.put({"end": 3})
    assert server.until("ended")[0] == {"ended": 3, "code": 137}
    assert killed == [signal.SIGKILL]


def test_values_of_this_node_win_over_those_of_the_script_unless_it_has_changed_them(
    server: Server, serving: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAI_RANK", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    monkeypatch.delenv("SLURM_JOB_GPUS", raising=False)
    names = ["HAI_RANK", "CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "MINE"]
    server.start(3, variables=names, env={"MINE": "1"})
    found = json.loads(server.until_said("}\n").splitlines()[0])
    assert found == {"HAI_RANK": "1", "CUDA_VISIBLE_DEVICES": "2,3", "SLURM_JOB_GPUS": None, "MINE": "1"}
    server.until("ended")
    server.start(4, variables=names, env={"CUDA_VISIBLE_DEVICES": "3"})
    assert json.loads(server.until_said("}\n").splitlines()[0])["CUDA_VISIBLE_DEVICES"] == "3"
    server.until("ended")


def test_a_launcher_that_cannot_be_started_is_told(server: Server) -> None:
    agent = Agent(server, 1, ["/no/such/program"])  # type: ignore[arg-type]
    server.start(3)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(agent.serve)
        said = server.until("data")[0]["data"]
        assert said == "srun: the step could not be started: No such file or directory\n"
        assert server.until("ended")[0] == {"ended": 3, "code": 1}
        server.orders.put({"over": 0})
        assert work.result(60) == 0


def test_the_end_of_the_job_is_its_status(server: Server, serving: Future[int | None]) -> None:
    server.orders.put(Output(1, 1, b"not for an agent"))
    server.orders.put({"over": 9})
    assert serving.result(60) == 9
    assert server.closed


@pytest.mark.parametrize("error", [Closed(), WireError("a message was not signed")], ids=["closed", "a stranger"])
def test_a_connection_that_is_lost_has_no_status(server: Server, agent: Agent, error: Exception) -> None:
    server.orders.put(error)
    assert agent.serve() is None
    assert server.closed


def test_a_server_that_is_gone_at_once_has_no_status(server: Server, agent: Agent) -> None:
    server.away = True
    assert agent.serve() is None


def test_all_steps_can_be_ended(server: Server, agent: Agent, serving: object) -> None:
    for step in (1, 2):
        server.start(step, wait=True, says=f"step {step}")
        server.until_said(f"step {step}")
    agent.end_all()
    assert {server.until("ended")[0]["ended"] for _ in range(2)} == {1, 2}
