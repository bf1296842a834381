"""Which processes of a rank compute: trees of processes as launchers make them, and what is found in each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.linux.processes import Process
from hai_client.rank.notices import workers
from hai_client.rank.notices.workers import Workers, is_shell, runs_notebook, runs_ray, workers_of
from unit.client.rank.rank_kit import a_process


class Line(NamedTuple):
    """One process: its pid and its parent's, its command line, and what its environment has."""

    pid: int
    parent: int
    command: str
    env: str = ""
    state: str = "S"
    #: The program that the kernel executes; empty: the first word of the command line.
    program: str = ""


Patch = pytest.MonkeyPatch


def the_machine(monkeypatch: Patch, lines: Iterable[Line]) -> dict[int, Process]:
    """Let the module read these processes; returns the table of them."""
    known = {line.pid: line for line in lines}

    def environment(pid: int) -> dict[bytes, bytes]:
        pairs = known[pid].env.split() if pid in known else []
        return {name.encode(): value.encode() for name, value in (pair.split("=") for pair in pairs)}

    def arguments(pid: int) -> list[str]:
        return known[pid].command.split() if pid in known else []

    def program(pid: int) -> str:
        line = known.get(pid)
        return "" if line is None else line.program or os.path.basename(line.command.split()[0])  # noqa: PTH119

    monkeypatch.setattr(workers, "read_environment", environment)
    monkeypatch.setattr(workers, "read_arguments", arguments)
    monkeypatch.setattr(workers, "read_program", program)
    return {line.pid: a_process(line.pid, line.parent, state=line.state) for line in lines}


def found_in(monkeypatch: Patch, *lines: Line, roots: tuple[int, ...] = (10,)) -> Workers:
    return workers_of(the_machine(monkeypatch, lines), list(roots))


def launched(*ranks: Line) -> tuple[Line, ...]:
    """What torchrun starts below a shell."""
    return (Line(10, 1, "bash train.sh"), Line(11, 10, "python /usr/bin/torchrun train.py"), *ranks)


TWO = (Line(12, 11, "python train.py", "LOCAL_RANK=0"), Line(13, 11, "python train.py", "LOCAL_RANK=1"))

#: The processes, the workers, those of them that an agent started, and whether more are expected.
TREES: dict[str, tuple[tuple[Line, ...], list[int], set[int], bool]] = {
    "one program": ((Line(10, 1, "python train.py"),), [10], set(), False),
    "a loader's helpers": ((Line(10, 1, "python train.py"), Line(11, 10, "python -c loader")), [10], set(), False),
    "torchrun": (launched(*TWO), [12, 13], {12, 13}, False),
    "torchrun that has started nothing": (launched(), [], set(), True),
    "torchrun by its module": ((Line(10, 1, "python -m torch.distributed.run train.py"),), [], set(), True),
    "the module's name as an argument far behind": (
        (Line(10, 1, "python train.py a b c d e torch.distributed.run"),), [10], set(), False,
    ),
    "torchrun as the third word": ((Line(10, 1, "python train.py torchrun"),), [10], set(), False),
    "helpers of ranks": (
        launched(*TWO, Line(14, 12, "python -c loader", "LOCAL_RANK=0")), [12, 13], {12, 13}, False,
    ),
    "helpers between": (
        launched(Line(12, 11, "python helper"), Line(13, 12, "python train.py", "LOCAL_RANK=0")), [13], {13}, False,
    ),
    "Lightning's own launcher": (
        (Line(10, 1, "python train.py"), Line(11, 10, "python train.py", "LOCAL_RANK=1")), [10, 11], set(), False,
    ),
    "Hydra": (
        (Line(10, 1, "mpirun -n 2 a.out"), Line(11, 10, "hydra_pmi_proxy"), Line(12, 11, "a.out", "MPI_LOCALRANKID=0")),
        [12], {12}, False,
    ),
    "Open MPI": (
        (Line(10, 1, "/opt/bin/mpirun a.out"), Line(11, 10, "a.out", "OMPI_COMM_WORLD_LOCAL_RANK=0")),
        [11], {11}, False,
    ),
    "a daemon of MPI without a program yet": ((Line(10, 1, "prted"),), [], set(), True),
    "DeepSpeed's command": (
        (
            Line(10, 1, "python /usr/bin/deepspeed train.py"),
            Line(11, 10, "python -m deepspeed.launcher.launch train.py"),
            Line(12, 11, "python train.py", "LOCAL_RANK=0"),
        ),
        [12], {12}, False,
    ),
    "a wrapper": ((Line(10, 1, "uv run train.py"), Line(11, 10, "python train.py")), [11], set(), False),
    "a wrapper that has started nothing": ((Line(10, 1, "uv run train.py"),), [10], set(), False),
    "a script of a wrapper": (
        (Line(10, 1, "python /usr/bin/accelerate launch"), Line(11, 10, "python train.py")), [11], set(), False,
    ),
    "a shell between two commands": ((Line(10, 1, "bash train.sh"),), [10], set(), False),
    "a pipeline": (
        (Line(10, 1, "sh -c"), Line(11, 10, "python train.py"), Line(12, 10, "tee log")), [11, 12], set(), False,
    ),
    "shells in shells": (
        (Line(10, 1, "bash a"), Line(11, 10, "zsh b"), Line(12, 11, "python train.py")), [12], set(), False,
    ),
    "a shell whose child has ended": (
        (Line(10, 1, "bash a"), Line(11, 10, "python train.py", state="Z")), [10], set(), False,
    ),
    "ranks that have ended": (
        launched(Line(12, 11, "python train.py", "LOCAL_RANK=0", "Z"), Line(13, 11, "python train.py", "LOCAL_RANK=0")),
        [13], {13}, False,
    ),
    "all ranks have ended": (launched(Line(12, 11, "python train.py", "LOCAL_RANK=0", "Z")), [], set(), True),
    "a shell within a rank": (
        launched(Line(12, 11, "bash wrap", "LOCAL_RANK=0"), Line(13, 12, "python train.py", "LOCAL_RANK=0")),
        [13], {13}, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "top", "under", "expected"), TREES.values(), ids=TREES)
def test_the_workers_of_a_tree(
    monkeypatch: Patch, lines: tuple[Line, ...], top: list[int], under: set[int], expected: bool
) -> None:
    found = found_in(monkeypatch, *lines)
    assert (found.top, found.under_agent, found.expected) == (top, under, expected)
    assert set(found.above) == set(found.launchers) == set(top)


def test_the_shells_above_a_worker_are_told_the_innermost_last(monkeypatch: Patch) -> None:
    found = found_in(
        monkeypatch,
        Line(10, 1, "bash a"),
        Line(11, 10, "timeout 5 sh b"),
        Line(12, 11, "sh b"),
        Line(13, 12, "python train.py"),
        Line(14, 10, "tee log"),
    )
    assert found.above == {13: (10, 12), 14: (10,)}
    assert found.shells == {10: [11, 14], 12: [13]}


@pytest.mark.parametrize(
    ("command", "idle"),
    [
        ("accelerate launch", True),
        ("python /usr/bin/torchrun train.py", True),
        ("python -m torch.distributed.run train.py", True),
        ("nsys profile python train.py", False),
        ("timeout 5 python train.py", False),
    ],
)
def test_launchers_that_do_nothing_of_use_alone_are_told(monkeypatch: Patch, command: str, idle: bool) -> None:
    found = found_in(monkeypatch, Line(10, 1, command), Line(11, 10, "python train.py", "LOCAL_RANK=0"))
    assert found.launchers == {11: (10,) if idle else ()}


def test_the_launchers_of_launchers_are_told_the_outermost_first(monkeypatch: Patch) -> None:
    found = found_in(
        monkeypatch,
        Line(10, 1, "accelerate launch"),
        Line(11, 10, "torchrun train.py"),
        Line(12, 11, "python train.py", "LOCAL_RANK=0"),
    )
    assert found.launchers == {12: (10, 11)}


@pytest.mark.parametrize(("roots", "top"), [((10, 20), [10, 20]), ((20,), [20]), ((99, 30), []), ((), [])])
def test_only_what_is_at_and_below_the_roots_is_looked_at(
    monkeypatch: Patch, roots: tuple[int, ...], top: list[int]
) -> None:
    lines = (Line(10, 1, "a"), Line(20, 1, "b"), Line(30, 1, "c", state="Z"))
    assert found_in(monkeypatch, *lines, roots=roots).top == top


def test_a_process_that_cannot_be_read_is_a_worker(monkeypatch: Patch) -> None:
    the_machine(monkeypatch, ())
    assert workers_of({10: a_process(10), 11: a_process(11, 10)}, [10]).top == [10]


@pytest.mark.parametrize(
    ("line", "shell"),
    [
        (Line(10, 1, "bash"), True),
        (Line(10, 1, "my-shell", program="dash"), True),
        (Line(10, 1, "ksh", program="ksh93"), True),
        (Line(10, 1, "zsh", program="zsh-5.9"), True),
        (Line(10, 1, "sh", program="bash-static"), True),
        (Line(10, 1, "bash-server", program="bash-server"), False),
        (Line(10, 1, "sh", program="busybox"), True),
        (Line(10, 1, "busybox ash -c x", program="busybox"), True),
        (Line(10, 1, "sleep 5", program="busybox"), False),
        (Line(10, 1, "sleep 5 sh", program="busybox"), False),
        (Line(10, 1, "bash", program="python3.11"), False),
        (Line(11, 1, "bash"), False),
    ],
    ids=str,
)
def test_a_shell_is_known_by_the_program_that_runs(monkeypatch: Patch, line: Line, shell: bool) -> None:
    the_machine(monkeypatch, [line])
    assert is_shell(10) is shell


@pytest.mark.parametrize(
    ("command", "notebook"),
    [
        ("python -m hai_client.notebook nb.ipynb", True),
        ("python -u -m hai_client.notebook nb.ipynb", True),
        ("python -m hai_client.notebooks", False),
        ("python train.py --a --b hai_client.notebook", False),
    ],
)
def test_what_runs_a_notebook(monkeypatch: Patch, command: str, notebook: bool) -> None:
    the_machine(monkeypatch, [Line(10, 1, command)])
    assert runs_notebook(10) is notebook


@pytest.mark.parametrize(("programs", "driver"), [((), False), (("python", "sh"), False), (("python", "raylet"), True)])
def test_the_driver_of_a_ray_has_its_program_below_it(
    monkeypatch: Patch, programs: tuple[str, ...], driver: bool
) -> None:
    lines = [Line(20 + number, 10, program) for number, program in enumerate(programs)]
    the_machine(monkeypatch, lines)
    assert runs_ray(line.pid for line in lines) is driver


COMMANDS = ("bash x", "python train.py", "torchrun x", "uv run x", "mpirun x", "accelerate launch")


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from(COMMANDS), st.sampled_from(("", "LOCAL_RANK=0", "LOCAL_RANK=1"))),
        min_size=1,
        max_size=25,
    )
)
def test_in_any_tree_a_worker_is_named_once_and_no_shell_with_commands_is_one(
    shapes: list[tuple[int, str, str]],
) -> None:
    lines = [
        Line(10 + number, 10 + parent % number if number else 1, command, env)
        for number, (parent, command, env) in enumerate(shapes)
    ]
    with pytest.MonkeyPatch.context() as patch:
        found = found_in(patch, *lines)
    assert len(set(found.top)) == len(found.top)
    assert found.top or found.expected
    assert found.under_agent <= set(found.top)
    parents = {line.pid: line.parent for line in lines}
    assert not set(found.top) & set(found.shells)
    for worker, shells in found.above.items():
        chain, pid = [], parents[worker]
        while pid != 1:
            chain.append(pid)
            pid = parents[pid]
        below_up = [one for one in reversed(chain) if one in shells]
        assert tuple(below_up) == shells, "the shells are its ancestors, in their order"
        assert set(found.launchers[worker]) <= set(chain)
