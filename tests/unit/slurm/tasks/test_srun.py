"""`srun`: which tasks on which nodes, with which variables; and what it says when that cannot be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hai_client.launching.layout import BadLayout
from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.options import SRUN, read
from hai_slurm.tasks import srun, wire
from hai_slurm.tasks.srun import exported, layout_of, main, request_of
from hai_slurm.tasks.wire import Closed, Output, WireError

NODES = {"HAI_NODE_ADDRESSES": "10.0.0.1,10.0.0.2,10.0.0.3", "HAI_NODE_LIST": "n-a,n-b,n-c"}


def layout(line: str, **env: str) -> list[tuple[int, int]]:
    """The tasks of each node of a job on three nodes."""
    found = layout_of(read([*line.split(), "x"], SRUN), {**NODES, **env})
    return list(zip(found.nodes, found.counts, strict=True))


@pytest.mark.parametrize(
    ("line", "env", "tasks"),
    [
        ("", {}, [(0, 1), (1, 1), (2, 1)]),
        ("", {"HAI_BATCH_PER_NODE": "4"}, [(0, 4), (1, 4), (2, 4)]),
        ("", {"HAI_BATCH_NTASKS": "4"}, [(0, 2), (1, 1), (2, 1)]),
        # What the step asks for goes before what the script has asked for.
        ("-n 2", {"HAI_BATCH_NTASKS": "4"}, [(0, 1), (1, 1)]),
        ("-N 2", {"HAI_BATCH_NTASKS": "7"}, [(0, 1), (1, 1)]),
        ("-N 1-2", {}, [(0, 1), (1, 1)]),
        ("--ntasks-per-node 2", {"HAI_BATCH_NTASKS": "7"}, [(0, 2), (1, 2), (2, 2)]),
        ("-n 7", {}, [(0, 3), (1, 2), (2, 2)]),
        ("-n 3 --ntasks-per-node 2", {}, [(0, 2), (1, 1)]),
        ("-w 10.0.0.3", {"HAI_BATCH_NTASKS": "7"}, [(2, 1)]),
        ("-w n-c,n-a", {}, [(2, 1), (0, 1)]),
        ("-w 10.0.0.[2-3]", {}, [(1, 1), (2, 1)]),
        ("-x n-b", {}, [(0, 1), (2, 1)]),
        ("-r 1", {}, [(1, 1), (2, 1)]),
        ("-r 1 -n 1", {}, [(1, 1)]),
        ("", {"HAI_BATCH_PER_NODE": "many", "HAI_BATCH_NTASKS": "0"}, [(0, 1), (1, 1), (2, 1)]),
    ],
)
def test_the_tasks_of_a_step(line: str, env: dict[str, str], tasks: list[tuple[int, int]]) -> None:
    assert layout(line, **env) == tasks


def test_outside_of_a_job_there_is_this_machine() -> None:
    found = layout_of(read(["x"], SRUN), {})
    assert (found.nodes, found.counts) == ((0,), (1,))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-w nowhere", r"--nodelist: 'nowhere' is no node of this job; they are 10\.0\.0\.1, 10\.0\.0\.2"),
        ("-x nowhere", r"--exclude: 'nowhere' is no node of this job"),
        ("-x 10.0.0.[1-3]", "no node of the job is left"),
        ("-r 3", "no node of the job is left"),
        ("-N 4", "--nodes=4: this job may use 3 here"),
        ("-N some", "--nodes=some: give a whole number"),
        ("-n 0", "--ntasks=0: give a whole number of 1 or more"),
        ("-n 9 --ntasks-per-node 2", "3 nodes take 6"),
    ],
)
def test_what_cannot_be_is_named(line: str, says: str) -> None:
    with pytest.raises((BadOption, BadLayout), match=says):
        layout(line)


ENV = {
    "PATH": "/bin",
    "HOME": "/h",
    "SLURM_JOB_ID": "41",
    "HAI_RANK": "0",
    "OWN": "1",
    "WORLD_SIZE": "2",
    "SECRET": "s",
}
ALWAYS = {"PATH", "HOME", "SLURM_JOB_ID", "HAI_RANK", "WORLD_SIZE"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ALL", set(ENV)),
        ("", set(ENV)),
        ("NONE", ALWAYS),
        ("NIL", ALWAYS),
        ("OWN", ALWAYS | {"OWN"}),
        ("OWN,UNKNOWN", ALWAYS | {"OWN"}),
        ("NEW=5", ALWAYS | {"NEW"}),
        ("ALL,NEW=5", set(ENV) | {"NEW"}),
    ],
)
def test_which_variables_the_tasks_get(text: str, names: set[str]) -> None:
    assert set(exported(text, ENV)) == names


def test_values_of_variables_are_taken_or_given() -> None:
    assert exported("OWN", ENV)["OWN"] == "1"
    assert exported("OWN=2,NEW=a=b,EMPTY=", ENV) == {
        **{name: ENV[name] for name in ALWAYS}, "OWN": "2", "NEW": "a=b", "EMPTY": "",
    }  # fmt: skip


def request(line: str, **env: str) -> dict[str, Any]:
    found = read([*line.split(), "python", "train.py"], SRUN)
    return request_of(found, layout_of(found, NODES), {**NODES, **env})


@pytest.mark.parametrize(
    ("line", "env", "field", "value"),
    [
        ("", {}, "command", ["python", "train.py"]),
        ("", {}, "end_others", True),
        ("-K0", {}, "end_others", False),
        ("--kill-on-bad-exit=0", {}, "end_others", False),
        ("-l", {}, "label", True),
        ("", {}, "label", False),
        ("-D deep/er", {}, "cwd", "/srv/deep/er"),
        ("-D /somewhere", {}, "cwd", "/somewhere"),
        ("--gpus-per-task 2", {}, "gpus_per_task", 2),
        ("", {"SLURM_GPUS_PER_TASK": "4"}, "gpus_per_task", 4),
        ("", {}, "gpus_per_task", None),
        ("", {"HAI_BATCH_SHELL_SIGNAL": "1"}, "local_rank", False),
        ("", {}, "local_rank", True),
        ("-o a-%t.txt", {}, "output", "a-%t.txt"),
        # The output of the runs before is kept, unless the script says otherwise.
        ("", {}, "append", False),
        ("", {"HAI_RESTARTS": "1"}, "append", True),
        ("--open-mode=truncate", {"HAI_RESTARTS": "1"}, "append", False),
        ("--open-mode=Append", {}, "append", True),
    ],
)
def test_the_request_of_a_step(
    monkeypatch: pytest.MonkeyPatch, line: str, env: dict[str, str], field: str, value: object
) -> None:
    monkeypatch.setattr(srun.os.path, "abspath", lambda path: os.path.join("/srv", path))  # noqa: PTH118
    assert request(line, **env)[field] == value


def test_options_become_variables_of_the_tasks() -> None:
    env = request("-c 4 -J eval", SLURM_JOB_NAME="job")["env"]
    assert (env["SLURM_CPUS_PER_TASK"], env["SLURM_JOB_NAME"]) == ("4", "eval")
    assert "SLURM_CPUS_PER_TASK" not in request("")["env"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "a command is missing; write for example: srun python train.py"),
        (["-n", "2"], "a command is missing"),
        (["-w", "a[", "x"], "a bracket has no partner"),
        (["-n", "x", "y"], "--ntasks=x: give a whole number"),
        (["--no-such-option", "x"], "--no-such-option"),
    ],
)
def test_wrong_words_are_told_in_a_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.startswith("srun: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_programs_that_ask_for_the_version_get_one(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out.startswith("slurm 2")


def test_a_rank_that_is_not_in_the_step_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**NODES, "HAI_RANK": "2"}.items():
        monkeypatch.setenv(name, value)
    assert main(["-n", "2", "no-such-program-of-hai"]) == 0


# -- a step on all nodes ----------------------------------------------------------------------------


class Server:
    """A connection to the job's server, whose messages the test has put down."""

    def __init__(self, *messages: Any) -> None:
        self.messages = list(messages)
        self.sent: list[dict[str, Any]] = []
        self.closed = False

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append(json.loads(json.dumps(message)))

    def receive(self) -> Any:
        message = self.messages.pop(0) if self.messages else Closed()
        if isinstance(message, Exception):
            raise message
        return message

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The variables of a batch script on rank 0."""
    (tmp_path / "token").write_text("secret")
    mine = {
        **NODES, "HAI_STEP_SERVER": "10.0.0.1", "HAI_RUN_ID": "41.1", "HAI_TOKEN_FILE": str(tmp_path / "token"),
        "HAI_RUNTIME_DIR": str(tmp_path), "HAI_RANK": "0", "HAI_BATCH_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0,1",
        "MINE": "1",
    }  # fmt: skip
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(srun.signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(srun, "_pass_signals_on", lambda channel: None)
    return tmp_path


def step(monkeypatch: pytest.MonkeyPatch, server: Server | None, *words: str) -> int:
    monkeypatch.setattr(wire, "find", lambda *_: server)
    return main([*words, "python"])


def test_a_step_prints_what_its_tasks_print_and_ends_with_their_status(
    job: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    server = Server({"started": 3}, Output(3, 1, b"out\n"), Output(3, 2, b"err\n"), {"ended": 3, "code": 7})
    assert step(monkeypatch, server) == 7
    found = capfdbinary.readouterr()
    assert (found.out, found.err) == (b"out\n", b"err\n")
    assert server.closed
    first, request = server.sent
    assert first == {"role": "step"}
    assert request["nodes"] == [0, 1, 2]
    # Each node has values of its own for these.
    assert not {"HAI_RANK", "HAI_TOKEN_FILE", "CUDA_VISIBLE_DEVICES"} & set(request["env"])
    assert request["env"]["MINE"] == "1"


def test_devices_that_the_script_has_chosen_reach_the_tasks(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    server = Server({"ended": 0, "code": 0})
    assert step(monkeypatch, server) == 0
    assert server.sent[1]["env"]["CUDA_VISIBLE_DEVICES"] == "1"


def test_a_file_of_all_tasks_is_written_here_and_one_of_each_task_by_its_node(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job)
    server = Server({"started": 3}, Output(3, 1, b"out\n"), Output(3, 2, b"err\n"), {"ended": 3, "code": 0})
    assert step(monkeypatch, server, "-o", "all-%s.txt", "-e", "err-%t.txt") == 0
    assert (job / "all-3.txt").read_bytes() == b"out\n"
    assert (server.sent[1]["output"], server.sent[1]["error"]) == (None, "err-%t.txt")


def test_output_and_errors_of_one_name_are_one_file(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job)
    server = Server({"started": 3}, Output(3, 1, b"out\n"), Output(3, 2, b"err\n"), {"ended": 3, "code": 0})
    assert step(monkeypatch, server, "-o", "all.txt") == 0
    assert (job / "all.txt").read_bytes() == b"out\nerr\n"


@pytest.mark.parametrize(
    ("server", "code", "says"),
    [
        (Server({"refused": "no GPU is free", "code": 3}), 3, "srun: no GPU is free"),
        (Server(Closed()), 1, "the connection to the server of this job is lost\n"),
        (Server(WireError("a message was not signed")), 1, "is lost: a message was not signed\n"),
        (None, 1, "the server of this job at 10.0.0.1 does not answer; is it over?"),
    ],
    ids=["refused", "closed", "a stranger", "no server"],
)
def test_a_step_that_cannot_be_says_why(
    job: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    server: Server | None,
    code: int,
    says: str,
) -> None:
    assert step(monkeypatch, server) == code
    err = capsys.readouterr().err
    assert says in err
    assert "secret" not in err
    assert server is None or server.closed


def test_after_a_notice_no_step_begins(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (job / "notice.json").write_text("{}")
    server = Server()
    assert step(monkeypatch, server) == 143
    assert server.sent == []
    assert "no further step is started" in capsys.readouterr().err


def test_a_token_that_cannot_be_read_is_told(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (job / "token").unlink()
    assert step(monkeypatch, Server()) == 1
    assert "the token of this run cannot be read: " in capsys.readouterr().err


def test_what_is_left_out_is_noted_unless_it_is_to_be_quiet(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, noted in ((["--mem=4G"], True), (["-Q", "--mem=4G"], False)):
        assert step(monkeypatch, Server({"ended": 0, "code": 0}), *words) == 0
        assert ("--mem" in capsys.readouterr().err) is noted
