"""Finds the workers of a rank: the processes that compute, as opposed to shells and launchers."""
# ruff: noqa: PTH119
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

from hai_client.linux.processes import (
    Process,
    children_of,
    read_arguments,
    read_environment,
    read_program,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "lksh", "yash", "csh", "bsd-csh", "tcsh", "fish"}
)
#: Programs that only start another one; some of them catch signals to pass them on.
WRAPPERS = frozenset(
    {"accelerate", "catatonit", "conda", "dumb-init", "hatch", "mamba", "micromamba", "nsys", "pdm", "pipenv", "pixi"}
    | {"poetry", "rye", "time", "timeout", "tini", "uv"}
)
#: Programs of MPICH and its relatives, and of Open MPI, that start the processes of a program: on the first node the
#: command of the user, on every node a daemon. They catch signals to end or pass them on.
MPI_LAUNCHERS = frozenset(
    {"hydra_bstrap_proxy", "hydra_pmi_proxy", "mpiexec", "mpiexec.hydra", "mpirun", "orted", "orterun", "prted"}
    | {"prterun"}
)
AGENTS = frozenset({"deepspeed", "torchrun"}) | MPI_LAUNCHERS
#: DeepSpeed's command starts the second of its modules in a process below it.
AGENT_MODULES = frozenset(
    {"torch.distributed.run", "torch.distributed.launch", "deepspeed.launcher.runner", "deepspeed.launcher.launch"}
)
#: Launchers that do nothing of use when their workers are gone. nsys is not among them: it writes its report then.
IDLE = AGENTS | {"accelerate"}
#: Runtimes and tools that catch SIGTERM only to go, or to end what they have started, and save nothing because of it.
ONLY_TO_GO = frozenset(
    {"beam.smp", "dotnet", "gmake", "java", "julia", "make", "MATLAB", "ninja", "nextflow", "octave", "octave-cli"}
    | {"octave-gui", "R", "Rscript", "ruby", "snakemake"}
)
#: Ray's own program on each node.
RAYLET = "raylet"
#: The module that runs a notebook, with its cells in a process below it.
NOTEBOOK_MODULE = "hai_client.notebook"
#: The variables that number the processes of a node: torchrun's and `hai-launch`'s; those of Hydra (MPICH, Intel MPI,
#: MVAPICH); those of Open MPI.
LOCAL_RANKS = (b"LOCAL_RANK", b"MPI_LOCALRANKID", b"OMPI_COMM_WORLD_LOCAL_RANK")


class Workers:
    """The workers of a rank, with the shells and launchers above them.

    `top` are the workers: the topmost processes that are neither a shell nor an elastic agent. `under_agent` are the
    workers that an agent started. `expected` is True if an agent has not started its workers yet. `shells` are the
    shells above workers, each with its children. `above` are the shells above each worker, the innermost last.
    `launchers` are the programs above each worker that do nothing of use when it is gone.
    """

    __slots__ = ("above", "expected", "launchers", "shells", "top", "under_agent")

    def __init__(self) -> None:
        self.top: list[int] = []
        self.under_agent: set[int] = set()
        self.expected = False
        self.shells: dict[int, list[int]] = {}
        self.above: dict[int, tuple[int, ...]] = {}
        self.launchers: dict[int, tuple[int, ...]] = {}


def workers_of(table: Mapping[int, Process], roots: list[int]) -> Workers:
    """Find the workers at and below some processes.

    An elastic agent has no `LOCAL_RANK` in its environment, but a descendant with `LOCAL_RANK=0`; before it has started
    that, its command line shows it. A launcher of MPI is such an agent, whose variable for that number has another
    name. If a process without `LOCAL_RANK` has descendants with other values only, it is number 0 itself (Lightning's
    own launcher), and all of them are workers. Helpers that a worker starts (data loaders) are not workers.
    """
    return _Search(table).run(roots)


class _Search:
    def __init__(self, table: Mapping[int, Process]) -> None:
        self._table = table
        self._children = children_of(table)
        self._local_ranks: dict[int, bytes | None] = {}
        self._found = Workers()

    def run(self, roots: list[int]) -> Workers:
        for root in roots:
            if root in self._table and not self._table[root].zombie:
                self._visit(root, (), (), under_agent=False)
        return self._found

    def _visit(self, pid: int, shells: tuple[int, ...], launchers: tuple[int, ...], *, under_agent: bool) -> None:
        below = [child for child in self._children.get(pid, ()) if not self._table[child].zombie]
        if below and is_shell(pid):
            self._found.shells[pid] = below
            for child in below:
                self._visit(child, (*shells, pid), launchers, under_agent=under_agent)
            return
        if below and _only_starts(pid):
            for child in below:
                self._visit(child, shells, _with(launchers, pid), under_agent=under_agent)
            return
        ranked = [] if self._local_rank(pid) is not None else list(self._topmost_ranked(pid))
        agent = any(self._local_rank(worker) == b"0" for worker in ranked)
        if not agent and _is_agent(pid):
            self._found.expected = True
            return
        if not agent:
            self._add(pid, shells, launchers, under_agent=under_agent)
        for worker in ranked:
            self._visit(worker, shells, _with(launchers, pid), under_agent=under_agent or agent)

    def _add(self, pid: int, shells: tuple[int, ...], launchers: tuple[int, ...], *, under_agent: bool) -> None:
        self._found.top.append(pid)
        self._found.above[pid] = shells
        self._found.launchers[pid] = launchers
        if under_agent:
            self._found.under_agent.add(pid)

    def _topmost_ranked(self, pid: int) -> Iterator[int]:
        """Yield the descendants with LOCAL_RANK whose parents have none."""
        for child in self._children.get(pid, ()):
            if self._table[child].zombie:
                continue
            if self._local_rank(child) is not None:
                yield child
            else:
                yield from self._topmost_ranked(child)

    def _local_rank(self, pid: int) -> bytes | None:
        if pid not in self._local_ranks:
            env = read_environment(pid)
            self._local_ranks[pid] = next((env[name] for name in LOCAL_RANKS if name in env), None)
        return self._local_ranks[pid]


def is_shell(pid: int) -> bool:
    """Return whether the process executes a shell."""
    program = read_program(pid)
    # Files may be named with a version: ksh93, zsh-5.9, bash-static.
    if program.replace("-static", "").rstrip("0123456789.-") in SHELLS:
        return True
    return program == "busybox" and bool({os.path.basename(word) for word in read_arguments(pid)[:2]} & SHELLS)


def runs_notebook(pid: int) -> bool:
    """Return whether the process runs a notebook: the cells run in a kernel below it, which has its own handlers."""
    return NOTEBOOK_MODULE in read_arguments(pid)[:4]


def runs_ray(children: Iterable[int]) -> bool:
    """Return whether a process with these children is the driver of its own Ray.

    The driver catches SIGTERM only to end Ray; the workers are other processes and do not get the signal.
    """
    return any(read_program(child) == RAYLET for child in children)


def only_goes(pid: int) -> bool:
    """Return whether the process is a runtime that catches signals only to go."""
    words = {os.path.basename(word) for word in read_arguments(pid)[:2]}
    return read_program(pid) in ONLY_TO_GO or bool(words & ONLY_TO_GO)


def _with(launchers: tuple[int, ...], pid: int) -> tuple[int, ...]:
    words = read_arguments(pid)
    idle = bool({os.path.basename(word) for word in words[:2]} & IDLE) or bool(set(words[:6]) & AGENT_MODULES)
    return (*launchers, pid) if idle else launchers


def _only_starts(pid: int) -> bool:
    return bool({os.path.basename(word) for word in read_arguments(pid)[:2]} & WRAPPERS)


def _is_agent(pid: int) -> bool:
    words = read_arguments(pid)
    return bool({os.path.basename(word) for word in words[:2]} & AGENTS) or bool(set(words[:6]) & AGENT_MODULES)
