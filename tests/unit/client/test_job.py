"""What training code sees of the platform, from its environment and its runtime folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hai_client.job import Job

NOTICE = {
    "schema": 1,
    "kind": "suspend",
    "reason": "turn_over",
    "message": "its turn was over",
    "beneficiary": 7,
    "at": "2126-01-01T00:00:00Z",
    "deadline": "2126-01-01T00:02:00Z",
    "revision": 1,
}


class Clock:
    """Time that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    (tmp_path / "reports").mkdir()
    return tmp_path


@pytest.fixture(autouse=True)
def handlers():
    """Signal handlers as they were before."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def environ(runtime: Path) -> dict[str, str]:
    return {"HAI_TASK_ID": "41", "HAI_RUNTIME_DIR": str(runtime)}


def reports(runtime: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((runtime / "reports").glob("*.json"))]


def tell(runtime: Path, **changes) -> None:
    (runtime / "notice.json").write_text(json.dumps({**NOTICE, **changes}))


def test_the_environment_says_who_the_job_is(environ) -> None:
    job = Job(
        environ
        | {
            "HAI_TASK_NAME": "digits",
            "HAI_RUN": "3",
            "HAI_RANK": "1",
            "HAI_NODES": "2",
            "HAI_RESTARTS": "2",
            "HAI_CHECKPOINT_DIR": "/data/ckpt",
            "HAI_STATE": "epoch 3",
            "HAI_NODE_LIST": "node-2,node-1",
            "MASTER_ADDR": "10.0.0.1",
            "MASTER_PORT": "2345",
        }
    )
    assert (job.inside, job.task_id, job.name, job.run, job.rank, job.nodes, job.restarts) == (
        True, 41, "digits", 3, 1, 2, 2,
    )  # fmt: skip
    assert (job.checkpoint_dir, job.state) == (Path("/data/ckpt"), "epoch 3")
    assert (job.node_list, job.master) == (("node-2", "node-1"), ("10.0.0.1", 2345))


def test_outside_everything_is_harmless(clean_environment) -> None:
    job = Job({})
    assert (job.inside, job.should_suspend(), job.notice(), job.state) == (False, False, None, None)
    assert (job.rank, job.nodes, job.node_list) == (0, 1, ("localhost",))
    job.saving(5)
    job.saved(1)
    job.set_state("x")
    assert job.state == "x"
    with pytest.raises(SystemExit) as left:
        job.suspended(2)
    assert left.value.code == 0
    assert list(clean_environment.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_notice_is_seen_but_looked_for_only_now_and_then(environ, runtime, clock) -> None:
    job = Job(environ, clock=clock)
    assert not job.should_suspend()
    tell(runtime)
    clock.now += 0.04
    assert not job.should_suspend()
    clock.now += 0.02
    assert job.should_suspend()
    assert job.should_suspend()


def test_a_notice_says_why_and_how_long(environ, runtime) -> None:
    job = Job(environ)
    assert job.notice() is None
    tell(runtime, deadline=(datetime.now(UTC) + timedelta(seconds=60)).isoformat())
    notice = job.notice()
    assert (notice.kind, notice.reason, notice.message, notice.beneficiary) == (
        "suspend", "turn_over", "its turn was over", 7,
    )  # fmt: skip
    assert 55 < notice.seconds_left <= 60
    tell(runtime, deadline="2020-01-01T00:00:00Z")
    assert job.notice().seconds_left == 0


@pytest.mark.parametrize("own", [False, True])
def test_all_ranks_leave_when_one_of_them_is_told(environ, runtime, own) -> None:
    if own:
        tell(runtime)
    asked = []

    def agree(flag: bool) -> bool:
        asked.append(flag)
        return True

    assert Job(environ).should_suspend(agree)
    assert asked == [own]


def test_sigterm_only_makes_the_answer_true(environ) -> None:
    job = Job(environ)
    job.should_suspend()
    os.kill(os.getpid(), signal.SIGTERM)
    assert job.should_suspend()


def test_a_handler_of_the_programs_own_stays(environ) -> None:
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    job = Job(environ)
    job.should_suspend()
    os.kill(os.getpid(), signal.SIGTERM)
    assert heard == [1]
    assert not job.should_suspend()


def test_sigusr1_is_taken_over_under_the_slurm_profile_only(environ) -> None:
    Job(environ).should_suspend()
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
    Job(environ | {"SLURM_RESTART_COUNT": "0"}).should_suspend()
    assert signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL


def test_forked_children_still_die_of_sigterm(environ, runtime) -> None:
    code = (
        "import multiprocessing, time\nfrom hai_client import job\njob.should_suspend()\n"
        "child = multiprocessing.get_context('fork').Process(target=time.sleep, args=(600,))\n"
        "child.start()\nchild.terminate()\nchild.join(10)\nprint(child.exitcode)"
    )
    env = {**os.environ, **environ}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout == "-15\n"


def test_what_the_job_says_is_left_for_the_supervisor_in_order(environ, runtime) -> None:
    job = Job(environ)
    job.saving(30)
    job.saved(step=3, path=Path("/ckpt"))
    job.set_state("epoch 3")
    with pytest.raises(SystemExit):
        job.suspended()
    said = reports(runtime)
    for report in said:
        assert datetime.fromisoformat(report.pop("at")).tzinfo is not None
    assert said == [
        {"kind": "saving", "seconds": 30},
        {"kind": "saved", "step": 3, "path": "/ckpt"},
        {"kind": "state", "text": "epoch 3"},
        {"kind": "done", "local_rank": 0, "local_size": 1},
    ]
    assert job.state == "epoch 3"


def test_suspended_with_a_step_tells_of_the_checkpoint_too(environ, runtime) -> None:
    with pytest.raises(SystemExit):
        Job(environ | {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}).suspended(5, all_ranks=True)
    saved, done = reports(runtime)
    assert (saved["kind"], saved["step"]) == ("saved", 5)
    assert (done["all_ranks"], done["local_rank"], done["local_size"]) == (True, 1, 4)


def test_training_goes_on_when_the_platform_cannot_be_told(environ, runtime, capsys) -> None:
    (runtime / "reports").rmdir()
    Job(environ).saved(1)
    assert "the platform could not be told 'saved': No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", [-1, 86_401, float("nan")])
def test_a_senseless_wish_for_time_is_refused(environ, seconds) -> None:
    with pytest.raises(ValueError, match="it must be between 0 and 86400"):
        Job(environ).saving(seconds)


def test_a_state_that_is_too_long_is_refused(environ) -> None:
    with pytest.raises(ValueError, match="the state has 4097 characters; at most 4096 are kept"):
        Job(environ).set_state("x" * 4097)


def test_the_module_speaks_for_this_process() -> None:
    code = "from hai_client import job\nprint(job.inside, job.task_id, job.state)\njob.set_state('b')\nprint(job.state)"
    env = {**os.environ, "HAI_TASK_ID": "41", "HAI_RUNTIME_DIR": "/nowhere", "HAI_STATE": "a"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "True 41 a\nb\n"
