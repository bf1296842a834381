"""Settings in the forms of TensorFlow and MPI, for tasks that ask for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hai_client.launching import provide
from hai_client.launching.provide import main, provided, wanted

HOSTFILE = "HAI_HOSTFILE"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [("", set()), ("tf", {"tf"}), (" TF , mpi", {"tf", "mpi"}), ("cuda,mpi", {"mpi"}), (",", set())],
)
def test_kinds_are_read_with_commas_and_unknown_ones_are_left_out(text: str, kinds: set[str]) -> None:
    assert wanted({provide.VARIABLE: text}) == kinds
    assert wanted({}) == set()


def test_tensorflow_gets_a_worker_with_a_port_of_its_own_for_each_process() -> None:
    env = {provide.VARIABLE: "tf", "MASTER_PORT": "3000"}
    found = provided(env, ["10.0.0.1", "10.0.0.2"], [2, 1], 2)
    assert json.loads(found.pop("TF_CONFIG")) == {
        "cluster": {"worker": ["10.0.0.1:3001", "10.0.0.1:3002", "10.0.0.2:3003"]},
        "task": {"type": "worker", "index": 2},
    }
    assert found == {}
    assert provided({**env, "TF_CONFIG": "own"}, ["10.0.0.1"], [1], 0) == {}, "the script's own stays"


def test_mpi_gets_a_file_of_hosts(tmp_path: Path) -> None:
    env = {provide.VARIABLE: "mpi", "HAI_RUNTIME_DIR": str(tmp_path)}
    found = provided(env, ["10.0.0.1", "10.0.0.2"], [8, 4], 0)
    assert found == {HOSTFILE: str(tmp_path / "hostfile")}
    assert (tmp_path / "hostfile").read_text() == "10.0.0.1 slots=8\n10.0.0.2 slots=4\n"
    assert provided({provide.VARIABLE: "mpi"}, ["10.0.0.1"], [1], 0) == {}, "no folder to write it to"
    missing = str(tmp_path / "missing")
    found = provided({**env, "HAI_RUNTIME_DIR": missing}, ["10.0.0.1"], [1], 0)
    assert found == {HOSTFILE: f"{missing}/hostfile"}, "MPI itself says that the file is missing"


@pytest.mark.parametrize(("kinds", "slots"), [("mpi", 4), ("mpi,tf", 1)])
def test_the_command_replaces_the_process_with_what_is_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kinds: str, slots: int
) -> None:
    started: list[tuple[str, list[str], dict[str, str]]] = []
    monkeypatch.setattr(provide.os, "execvpe", lambda *given: started.append(given))
    for name, value in {
        provide.VARIABLE: kinds,
        "HAI_NODE_ADDRESSES": "10.0.0.1,10.0.0.2",
        "HAI_RANK": "1",
        "HAI_RUNTIME_DIR": str(tmp_path),
        "PET_NPROC_PER_NODE": "4",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    main(["--", "mpirun", "train"])
    ((program, words, env),) = started
    assert (program, words, env["HAI_RANK"]) == ("mpirun", ["mpirun", "train"], "1")
    assert (tmp_path / "hostfile").read_text() == f"10.0.0.1 slots={slots}\n10.0.0.2 slots={slots}\n"
    assert ("TF_CONFIG" in env) == ("tf" in kinds)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "usage"),
        (["--"], 2, "usage"),
        (["mpirun", "train"], 2, "usage"),
        (["--", "no-such-program-of-hai"], 127, "no-such-program-of-hai: No such file"),
        (["--", "/etc/passwd"], 126, "/etc/passwd: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_started(
    words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == status
    assert said in capsys.readouterr().err
