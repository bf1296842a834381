"""`job.checkpoint`: a folder that is there whole or not at all; and `job.watchdog`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hai_client import checkpoints
from hai_client.job import Job


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "runtime/reports").mkdir(parents=True)
    return {
        "HAI_TASK_ID": "41",
        "HAI_RUNTIME_DIR": str(tmp_path / "runtime"),
        "HAI_CHECKPOINT_DIR": str(tmp_path / "ckpt"),
    }


def save(job: Job, step: int, **options) -> None:
    with job.checkpoint(step, **options) as folder:
        (folder / "model").write_text(str(step))
        (folder / "parts").mkdir()
        (folder / "parts/one").write_text("1")


def run(code: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words, env = [sys.executable, "-c", code], {**os.environ, **environ}
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)


def names(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "ckpt").iterdir())


def test_it_is_there_whole_told_and_found(environ, tmp_path: Path) -> None:
    job = Job(environ)
    assert job.last_checkpoint() is None
    save(job, 7)
    assert names(tmp_path) == ["step-00000007"]
    found = job.last_checkpoint()
    assert (found.step, (found.path / "model").read_text()) == (7, "7")
    (report,) = [json.loads(path.read_text()) for path in (tmp_path / "runtime/reports").glob("*.json")]
    assert (report["kind"], report["step"], report["path"]) == ("saved", 7, str(found.path))


def test_the_newest_stay_and_the_newest_is_by_number(environ, tmp_path: Path) -> None:
    job = Job(environ)
    for step in (8, 9, 10, 100_000_000):
        save(job, step)
    assert names(tmp_path) == ["step-00000010", "step-100000000"]
    assert job.last_checkpoint().step == 100_000_000
    save(job, 3, keep=1)
    # What was just written is never what goes.
    assert names(tmp_path) == ["step-00000003"]
    save(job, 4, keep=None)
    save(job, 5, keep=None)
    assert len(names(tmp_path)) == 3


def test_an_error_leaves_nothing_and_the_last_one_stays(environ, tmp_path: Path) -> None:
    job = Job(environ)
    save(job, 1)
    with pytest.raises(FileNotFoundError), job.checkpoint(2) as folder:  # noqa: PT012  the block is what fails
        (folder / "half").touch()
        (folder / "none" / "model").touch()
    assert names(tmp_path) == ["step-00000001"]


def test_the_same_step_again_replaces_it(environ, tmp_path: Path) -> None:
    job = Job(environ)
    save(job, 1)
    with job.checkpoint(1) as folder:
        (folder / "model").write_text("new")
    assert names(tmp_path) == ["step-00000001"]
    assert (job.last_checkpoint().path / "model").read_text() == "new"


def test_a_kill_in_the_middle_leaves_the_last_one(environ, tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom hai_client import job\n"
        "with job.checkpoint(1) as folder: (folder / 'model').write_text('1')\n"
        "with job.checkpoint(2) as folder:\n"
        "    (folder / 'model').write_text('2'); print('half', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGKILL)
    job = Job(environ)
    assert job.last_checkpoint().step == 1
    assert len(names(tmp_path)) == 2
    save(job, 3)
    # Its own draft of before goes, another rank's would stay.
    assert names(tmp_path) == ["step-00000001", "step-00000003"]


@pytest.mark.parametrize(("step", "keep", "text"), [(-1, 2, "step is -1"), (1, 0, "keep is 0")])
def test_senseless_numbers_are_refused(environ, tmp_path: Path, step, keep, text) -> None:
    with pytest.raises(ValueError, match=text), Job(environ).checkpoint(step, keep=keep):
        raise AssertionError
    assert not (tmp_path / "ckpt").exists()


def test_what_cannot_be_read_is_put_aside_and_kept(environ, tmp_path: Path) -> None:
    job = Job(environ)
    save(job, 1)
    save(job, 2)
    checkpoints.put_aside(job.last_checkpoint())
    assert job.last_checkpoint().step == 1
    assert (tmp_path / "ckpt" / f".unreadable-step-00000002-{os.getpid()}" / "model").exists()


HANGS = """
import threading, time
from hai_client import job
job.watchdog(1.5)
for _ in range(12):
    time.sleep(0.2)
    job.alive()
print("alive", flush=True)
def stuck_in_a_collective():
    threading.Event().wait()
stuck_in_a_collective()
"""


def test_a_silent_process_prints_its_stacks_and_is_ended_with_a_status_of_its_own(environ) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGS],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (79, "alive\n")
    assert "hai: no progress for " in done.stderr
    assert "in stuck_in_a_collective" in done.stderr


def test_outside_the_watchdog_is_harmless_and_it_can_be_ended(environ) -> None:
    code = "import time; from hai_client import job; job.watchdog(0.2); {more}time.sleep(1); print('lives')"
    for env, more in (({}, ""), (environ, "job.watchdog(0); "), (environ, "job.saving(60); ")):
        words = [sys.executable, "-c", code.format(more=more)]
        done = subprocess.run(
            words, env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stdout) == (0, "lives\n"), done.stderr


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_a_senseless_limit_is_refused(environ, seconds) -> None:
    with pytest.raises(ValueError, match="it must be 0 or more"):
        Job(environ).watchdog(seconds)


@pytest.fixture
def handler():
    """The handler of SIGTERM as it was before."""
    kept = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, kept)


@pytest.mark.usefixtures("handler")
def test_asking_and_saving_are_progress(environ) -> None:
    now = [100.0]
    job = Job(environ, clock=lambda: now[0])
    for act in (job.should_suspend, job.saved, job.alive):
        now[0] += 1
        act()
        assert job._alive_at == now[0]
    job.saving(60)
    assert job._alive_at == now[0] + 60
