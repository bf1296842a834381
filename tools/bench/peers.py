"""The platform beside Slurm on the same machine: `python -m bench peers [--tasks N]`.

One after the other with as many nodes and jobs, so that the ratios mean something on any machine. Needs Slurm's
programs and `shared/peers/slurm_baseline.sh` in a folder above the repository; that script says how Slurm is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bench.figures import Report, say
from bench.rest import Storm, Wire, storm, without_limits
from e2e.conftest import Platform
from kit.waiting import wait_for

TOPIC = "beside Slurm"
NODES, TASKS, CLIENTS = 16, 500, 8
RUNS = "submit_seq submit_par churn"
_SCRIPT = Path("shared") / "peers" / "slurm_baseline.sh"
#: Seconds that the measurement of Slurm may take.
_PATIENCE_S = 600


def measure(report: Report, root: Path, *, nodes: int = NODES, tasks: int = TASKS) -> None:
    """Measure both; skipped where there is no Slurm."""
    script = next((folder / _SCRIPT for folder in root.parents if (folder / _SCRIPT).is_file()), None)
    if script is None:
        report.skip("peers", f"there is no {_SCRIPT} above the repository")
        return
    if not all(shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in ("slurmctld", "sbatch", "munged")):
        report.skip("peers", f"Slurm is not installed: see the first lines of {_SCRIPT.name}")
        return
    if os.geteuid() != 0:
        report.skip("peers", f"{_SCRIPT.name} needs root")
        return
    say(f"Slurm, {nodes} nodes, {tasks:,} jobs")
    theirs = _slurm(script, nodes, tasks)
    say(f"HAI, {nodes} nodes, {tasks:,} tasks")
    ours = _hai(nodes, tasks)
    for name, key, words in (
        ("submissions, one client", "submit_seq", "`sbatch` one after the other; REST over one connection"),
        ("submissions, several clients", "submit_par", f"4 `sbatch` at once; {CLIENTS} connections"),
        ("trivial tasks, submitted to ended", "churn", f"{tasks:,} on {nodes} nodes, load {os.getloadavg()[0]:.1f}"),
    ):
        if key not in theirs:
            report.skip(f"peers: {name}", "Slurm gave no figure")
            continue
        report.add(TOPIC, f"{name}: Slurm", theirs[key], "/s", words)
        report.add(TOPIC, f"{name}: HAI", ours[key], "/s")
        report.add(TOPIC, f"{name}: HAI to Slurm", ours[key] / theirs[key], "", "ratio of rates")


def _slurm(script: Path, nodes: int, jobs: int) -> dict[str, float]:
    """Rates of Slurm, by the names that the script gives its runs."""
    with tempfile.TemporaryDirectory(prefix="hai-bench-slurm-", ignore_cleanup_errors=True) as folder:
        environ = {**os.environ, "WORK": str(Path(folder) / "work"), "RUNS": RUNS}
        # Slurm's daemons read there as other users.
        Path(folder).chmod(0o755)
        command = ["bash", str(script), "multi", str(nodes), str(jobs)]
        done = subprocess.run(
            command,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
    found: dict[str, float] = {}
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            facts = dict(word.partition("=")[::2] for word in line.split()[1:])
            rate = facts.get("submit_per_s") or facts.get("jobs_per_s")
            if "run" in facts and rate and float(rate) > 0:
                found[facts["run"]] = float(rate)
    if not found:
        raise RuntimeError(f"{script.name} ended with {done.returncode} and gave no figure: {done.stderr[-500:]}")
    return found


def _hai(nodes: int, tasks: int) -> dict[str, float]:
    """The same rates of a platform, over REST through the Hub's proxy."""

    def held(wire: Wire, number: int) -> None:
        wire.ask("POST", "/tasks", {"name": f"held-{number}", "command": ["true"], "cwd": "/", "hold": True})

    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as folder:
        # Slurm has no limit of requests either.
        platform = Platform(Path(folder), nodes=nodes, options=without_limits(Path(folder)))
        try:
            platform.start()
            Wire(platform).ask("GET", "/me")  # from now on the service knows the token
            churn = _churn(platform, tasks)
            alone, several = storm(platform, 1, tasks // 2, held), storm(platform, CLIENTS, tasks, held)
            return {"submit_seq": alone.rate, "submit_par": several.rate, "churn": churn}
        finally:
            platform.end()


def _churn(platform: Platform, tasks: int) -> float:
    """Trivial tasks that start and end a second, submission included."""
    client, name = platform.client(), "churn"

    def submit(wire: Wire, _: int) -> None:
        wire.ask("POST", "/tasks", {"name": name, "command": ["true"], "cwd": "/"})

    def none_left() -> bool:
        time.sleep(0.2)
        return not any(client.tasks(name=name, state="live", limit=1))

    began = time.time()
    made: Storm = storm(platform, CLIENTS, tasks, submit)
    assert len(made.latencies) == tasks
    wait_for("all tasks to end", none_left, 600)
    ended = [task.ended_at for task in client.tasks(name=name, limit=tasks)]
    return tasks / (max(at for at in ended if at is not None).timestamp() - began)
