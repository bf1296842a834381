"""The client's wheel alone, as on a laptop or in a training image: the command, the in-job API, the supervisor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ci.support import CLIENT_PYTHONS
from hai_client.version import __version__
from kit.interpreters import interpreter

FOREIGN = """
import sys
before = set(sys.modules)  # what the machine's Python loads on its own, as Debian's sitecustomize
import hai_client, hai_client.job, hai_client.api, hai_client.cli.app, hai_client.rank.supervisor
print(sorted({name.partition('.')[0] for name in sys.modules.keys() - before} - sys.stdlib_module_names - {'__main__'}))
"""
TRAINING = """
import time
from hai_client import job
last = job.last_checkpoint()
print('begins', flush=True)
for step in range(last.step if last else 0, 1_000_000):
    time.sleep(0.001)
    if job.should_suspend():
        with job.checkpoint(step) as folder:
            (folder / 'model').write_text('weights')
        print('saved', flush=True)
        job.suspended()
print('never told')
"""


def test_nothing_else_is_installed(alone) -> None:
    code = "from importlib import metadata; print(sorted(found.name for found in metadata.distributions()))"
    assert alone.code(code) == "['hai-client']\n"


def test_the_client_loads_the_standard_library_alone(alone) -> None:
    assert alone.code(FOREIGN) == "['hai_client']\n"


def test_the_command_shows_its_verbs_and_its_version(alone) -> None:
    done = alone.hai("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "submit" in done.stdout
    assert alone.hai("--version").stdout == f"hai {__version__}\n"


@pytest.mark.parametrize("version", CLIENT_PYTHONS)
def test_the_command_and_the_in_job_api_run_on_that_python(client_on, version: str) -> None:
    there = client_on(interpreter(version))
    done = there.hai("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "submit" in done.stdout
    assert there.hai("--version").stdout == f"hai {__version__}\n"
    assert there.hai("up").stderr == "hai: up: not installed here; run: pip install 'hai-platform[up]'\n"
    assert there.hai("slurm", "env").stderr == "hai: slurm: not installed here; run: pip install hai-slurm\n"
    (there.home / "train.py").write_text(TRAINING)
    done = there.hai("python", "train.py", "++", "--when", "begins", "-ss", "0.5s", "--profile", "cooperative")
    assert done.stdout.splitlines()[-1] == "nothing would be lost", done.stderr


def test_all_wheels_make_one_command(platform) -> None:
    code = "from importlib import metadata; print(sorted(found.name for found in metadata.distributions()))"
    assert platform.code(code) == "['hai-client', 'hai-env', 'hai-platform', 'hai-slurm']\n"
    assert platform.hai("--version").stdout == f"hai {__version__}\n"
    assert platform.hai("sim", "--help").returncode == 0
    line = platform.hai("slurm", "env").stdout
    done = platform.run("/bin/sh", "-c", f"{line}sinfo --version; squeue")
    assert (done.stdout, done.stderr.partition(":")[0]) == ("slurm 23.02.0 (HAI)\n", "squeue")
    assert "hai login" in done.stderr


def test_without_a_login_the_command_says_in_one_line_what_to_do(alone) -> None:
    done = alone.hai("list")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "hai login" in done.stderr


def test_hai_up_says_in_one_line_what_to_install(alone) -> None:
    done = alone.hai("up", "--state-dir", str(alone.home / "state"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'hai-platform[up]'" in done.stderr
    assert not (alone.home / "state").exists()


def test_the_service_says_in_one_line_what_to_install(platform) -> None:
    done = platform.run(platform.python, "-m", "hai_scheduler", "--state-dir", str(platform.home / "state"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'hai-platform[scheduler]'" in done.stderr


def test_training_code_is_harmless_outside_the_platform(alone) -> None:
    code = (
        "from hai_client import job; job.saved(step=1); job.set_state('x'); print(job.should_suspend(), job.notice())"
    )
    assert alone.code(code) == "False None\n"


def test_the_command_rehearses_an_interruption(alone) -> None:
    (alone.home / "train.py").write_text(TRAINING)
    done = alone.hai("python", "train.py", "++", "--when", "begins", "-ss", "0.5s", "--profile", "cooperative")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "run 1 | begins"), done.stderr
    assert done.stdout.splitlines()[-1] == "nothing would be lost"


def test_the_supervisor_runs_a_rank(alone, tmp_path: Path) -> None:
    spec = {
        "schema": 1,
        "run_id": "1.1",
        "task_id": 1,
        "rank": 0,
        "node": "node-1",
        "command": [alone.python, "-c", "print('hello from a rank')"],
        "cwd": str(tmp_path),
        "env": {"PATH": "/usr/bin:/bin"},
        "profile": "sigterm",
        "api_url": "http://127.0.0.1:1/services/hai/api/v1",
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    (tmp_path / "token").write_text("run:1.1:none")
    done = alone.run(alone.python, "-m", "hai_client.rank", str(tmp_path))
    assert done.returncode == 0, done.stderr
    status = json.loads((tmp_path / "status.json").read_text())
    assert (status["state"], status["exit_code"], status["start_error"]) == ("exited", 0, None)
    assert (tmp_path / "log" / f"{0:020d}.log").read_text().endswith("Z hello from a rank\n")
