"""An ordinary batch script on the whole platform: interrupted by an urgent task, requeued, and ended as on Slurm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import hai_slurm
from e2e.conftest import Platform
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.e2e

SHIMS = Path(hai_slurm.__file__).parent / "shims"
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --job-name=ordinary
#SBATCH --output=%x-%j.out
#SBATCH --signal=USR1@60
#SBATCH --requeue
#SBATCH --mem=1G
echo "run $SLURM_RESTART_COUNT on $SLURM_JOB_NUM_NODES nodes"
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
echo "second node has rank $(srun -N1 -n1 -w "${nodes[1]}" sh -c 'echo $HAI_RANK')"
srun --label python worker.py
"""
WORKER = """
import os, pathlib, signal, subprocess, sys, time
me = os.environ["SLURM_PROCID"]
saved = pathlib.Path(f"saved-{me}")
def leave(number, frame):
    saved.write_text("3")
    print("saved", flush=True)
    if me == "0":
        while len(list(pathlib.Path(".").glob("saved-*"))) < int(os.environ["SLURM_NTASKS"]):
            time.sleep(0.02)
        subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]], check=True)
    sys.exit(0)
signal.signal(signal.SIGUSR1, leave)
if saved.exists():
    print("resumed from", saved.read_text(), "local", os.environ["SLURM_LOCALID"], flush=True)
    sys.exit(0)
pathlib.Path(f"up-{me}").touch()
while True:
    time.sleep(0.02)
"""


def test_an_ordinary_batch_script_is_interrupted_and_requeued(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(SCRIPT)
    (tmp_path / "worker.py").write_text(WORKER)

    def run(*words: str) -> str:
        env = {**platform.env, "HAI_URL": platform.url, "HAI_TOKEN": platform.token("bob")}
        done = subprocess.run(
            [SHIMS / words[0], *words[1:]], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def state(task: str) -> str:
        return run("sacct", "-n", "-X", "-P", "-o", "State", "-j", task).strip()

    answer = run("sbatch", "job.sh").strip()
    assert answer.startswith("Submitted batch job ")
    task = answer.rpartition(" ")[2]
    wait_for("four processes", lambda: len(list(tmp_path.glob("up-*"))) == 4)
    assert run("squeue", "-h", "-j", task, "-o", "%t %j %D").split() == ["R", "ordinary", "2"]
    beside = run("srun", "-N", "2", "-n", "4", "--job-name=beside", "sh", "-c", "echo process $SLURM_PROCID")
    assert [line for line in sorted(beside.splitlines()) if "process" in line] == ["process 0", "process 1"]
    platform.hai("submit", "-n", "4", "-p", "VERY_HIGH", "--name", "pressing", "-f", "--", "true", user="cy")
    wait_for("the job to end", lambda: state(task) == "COMPLETED")
    out = (tmp_path / f"ordinary-{task}.out").read_text().splitlines()
    assert [line for line in out if line.startswith("run ")] == ["run 0 on 2 nodes", "run 1 on 2 nodes"]
    assert out.count("second node has rank 1") == 2
    assert sorted(line for line in out if "resumed" in line) == [
        f"{number}: resumed from 3 local {number % 2}" for number in range(4)
    ]
