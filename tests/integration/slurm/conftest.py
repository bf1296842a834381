"""A gang of ranks as real processes, without a platform around it."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import hai_slurm
from hai_client.launching.starting import launching, own_shims
from hai_client.launching.variables import loopbacks
from hai_client.rank.starting.environment import RankContext, Run, rank_environment
from kit.waiting import wait_for

SHIMS = str(Path(hai_slurm.__file__).parent / "shims")
LIMIT_S = 60.0


class Ranks:
    """The ranks of one run: each has its variables, its folder and the token of the run."""

    def __init__(self, root: Path, nodes: int, profile: str = "slurm", ranks_per_node: int | None = None) -> None:
        self.root = root
        self.token = root / "token"
        self.token.write_text(f"run:{secrets.token_hex(16)}\n")
        self.processes: list[subprocess.Popen[str]] = []
        self.nodes = nodes
        self.run = Run(
            run_id=f"7.{int.from_bytes(os.urandom(3), 'big')}",
            task_id=7,
            user="alice",
            nodes=[f"node-{rank + 1}" for rank in range(nodes)],
            profile=profile,
            api_url="http://127.0.0.1:1/",
            addresses=loopbacks(nodes),
            master_port=29500,
            cwd=str(root),
            ranks_per_node=ranks_per_node,
        )

    def environment(self, rank: int, **given: str) -> dict[str, str]:
        runtime = self.root / str(rank)
        (runtime / "reports").mkdir(parents=True, exist_ok=True)
        seat = RankContext(
            rank=rank, node=f"node-{rank + 1}", gpus=2, runtime_dir=str(runtime), token_file=str(self.token)
        )
        first = [str(Path(sys.executable).parent)]
        task = {"HAI_TASK_NAME": "n", "HAI_USER": "alice", "HAI_RESTARTS": "0", **given}
        return rank_environment(task, self.run, seat, home=str(self.root), path_first=first, slurm=SHIMS)

    def start(self, rank: int, words: Sequence[str], **given: str) -> subprocess.Popen[str]:
        """Start a rank as its supervisor does: in a session of its own."""
        process = subprocess.Popen(
            list(words),
            env=self.environment(rank, **given),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def launch(self, *command: str, each: int, **given: str) -> list[subprocess.Popen[str]]:
        """Start the launcher on every node."""
        return [self.start(rank, launching(own_shims(), each, command), **given) for rank in range(self.nodes)]

    def batch(self, script: str, *options: str, **given: str) -> list[subprocess.Popen[str]]:
        """Start a batch job: rank 0 runs the script."""
        words = [f"{SHIMS}/hai-batch", *options, "--", script]
        return [self.start(rank, words, **given) for rank in range(self.nodes)]

    def notice(self) -> None:
        """Let every rank have a notice."""
        for rank in range(self.nodes):
            (self.root / str(rank)).mkdir(exist_ok=True)
            (self.root / str(rank) / "notice.json").write_text("{}")

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[type[Ranks]]:
    made: list[Ranks] = []

    class Made(Ranks):
        def __init__(self, nodes: int, profile: str = "slurm", ranks_per_node: int | None = None) -> None:
            super().__init__(tmp_path, nodes, profile, ranks_per_node)
            made.append(self)

    yield Made  # type: ignore[misc]
    for each in made:
        each.end()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its status and everything that it has printed."""
    output, _ = process.communicate(timeout=LIMIT_S)
    return process.returncode, output


def lines_of(path: Path, count: int = 1) -> list[str]:
    """The lines of a file, as soon as it has at least `count` of them."""

    def look() -> list[str]:
        return path.read_text().splitlines() if path.exists() else []

    return wait_for(f"{count} lines in {path}", look, LIMIT_S, met=lambda lines: len(lines) >= count)
