"""The profile auto: how jobs that were not written for the platform are told to leave, with real processes."""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from kit.waiting import wait_for

#: Seconds; longer than any of these tests, so an event that happens during a test did not wait for it.
LONG_S = 300

NAIVE = "import time\nprint('up', flush=True)\ntime.sleep(600)\n"
HANDLER = """
import signal, sys, time
def save(*_):
    print("told", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("up", flush=True)
time.sleep(600)
"""


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    return folder


def test_one_that_neither_catches_nor_polls_is_left_for_its_patience_and_then_ended(bench, service) -> None:
    bench.python(NAIVE, profile="auto", patience_s=1.5)
    bench.printed("up")
    before = time.monotonic()
    service.notify()
    status = bench.wait()
    assert time.monotonic() - before >= 1.5
    assert (status["exit_code"], status["signal"], status["signalled"], status["caught"]) == (143, 15, True, False)
    assert status["checkpoint"] is None


def test_a_task_that_is_stopped_for_good_needs_no_patience(bench, service) -> None:
    bench.start("sleep", "1000", profile="auto", patience_s=LONG_S)
    bench.status()
    service.notify(reason="stopped", kind="stop")
    assert bench.wait()["signal"] == 15


def test_one_that_ends_by_itself_while_it_is_left_was_not_told(bench, service) -> None:
    bench.python(
        "import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n",
        profile="auto",
        patience_s=LONG_S,
    )
    bench.printed("up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    status = bench.wait()
    assert (status["exit_code"], status["signalled"], status["caught"]) == (0, False, None)


def test_a_caught_signal_is_sent_at_once(bench, service) -> None:
    bench.python(HANDLER, profile="auto", patience_s=LONG_S)
    bench.printed("up")
    service.notify()
    bench.printed("told")
    status = bench.wait()
    assert (status["exit_code"], status["signal"], status["signalled"], status["caught"]) == (0, None, True, True)


def test_a_signal_that_a_job_waits_for_is_sent_at_once(bench, service) -> None:
    bench.python(
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\nprint('up', flush=True)\n"
        "signal.sigwait({signal.SIGTERM})\nprint('told', flush=True)\n",
        profile="auto",
        patience_s=LONG_S,
    )
    bench.printed("up")
    service.notify()
    bench.printed("told")
    status = bench.wait()
    assert (status["exit_code"], status["signal"], status["signalled"], status["caught"]) == (0, None, True, True)


def test_a_handler_that_comes_after_the_notice_gets_its_signal(bench, service) -> None:
    bench.python(
        "import os, time\nprint('starts', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n" + HANDLER,
        profile="auto",
        patience_s=LONG_S,
    )
    bench.printed("starts")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    bench.printed("told")
    assert bench.wait()["caught"] is True


TWO = """
import os, signal, sys, time
def heard(number, _):
    print("heard", signal.Signals(number).name, flush=True)
    sys.exit(0)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), heard)
print("up", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("caught", "slurm", "sent"),
    [
        (["SIGTERM"], False, "SIGTERM"),
        (["SIGTERM"], True, "SIGTERM"),
        (["SIGUSR1"], False, "SIGUSR1"),
        (["SIGUSR2", "SIGTERM"], False, "SIGTERM"),
        (["SIGUSR1", "SIGTERM"], True, "SIGUSR1"),
        (["SIGUSR2", "SIGTERM"], True, "SIGUSR2"),
        (["SIGUSR1", "SIGUSR2", "SIGTERM"], True, "SIGUSR1"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else str(value),
)
def test_which_of_the_caught_signals_is_sent(bench, service, caught, slurm, sent) -> None:
    """Lightning and submitit under Slurm's variables save on SIGUSR1 or SIGUSR2, and ignore SIGTERM."""
    env = {"SLURM_JOB_ID": "41"} if slurm else {}
    bench.start(sys.executable, "-c", TWO, *caught, profile="auto", patience_s=LONG_S, env=env)
    bench.printed("up")
    service.notify()
    assert bench.wait()["exit_code"] == 0
    assert bench.lines() == ["up", f"heard {sent}"]


def test_a_signal_that_is_held_back_to_be_fetched_counts_as_caught(bench, service) -> None:
    bench.python(
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\nprint('up', flush=True)\n"
        "while signal.SIGTERM not in signal.sigpending(): time.sleep(0.01)\nprint('fetched', flush=True)\n",
        profile="auto",
        patience_s=LONG_S,
    )
    bench.printed("up")
    service.notify()
    bench.printed("fetched")
    assert bench.wait()["caught"] is True


JOB = """
from hai_client import job
import os, time
{first}
print('up', flush=True)
while not os.path.exists('go'):
    time.sleep(0.01)
while not job.should_suspend():
    time.sleep(0.01)
job.suspended(step=12)
"""


@pytest.mark.parametrize("first", ["job.should_suspend()", ""], ids=["before the notice", "after it"])
def test_a_job_that_polls_is_told_by_the_file_alone(bench, service, first) -> None:
    bench.python(JOB.format(first=first), profile="auto", patience_s=LONG_S)
    bench.printed("up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    status = bench.wait()
    assert (status["exit_code"], status["done"], status["caught"], status["signalled"]) == (0, True, None, True)
    assert (status["checkpoint"]["step"], status["checkpoint"]["source"]) == (12, "told")


def test_a_job_that_polls_is_left_longer_than_its_patience(bench, service) -> None:
    bench.python(
        "from hai_client import job\nimport os, time\njob.should_suspend()\nprint('up', flush=True)\n"
        "while not job.should_suspend(): time.sleep(0.01)\ntime.sleep(2)\njob.suspended(step=1)",
        profile="auto",
        patience_s=0.2,
    )
    bench.printed("up")
    service.notify()
    status = bench.wait()
    assert (status["exit_code"], status["done"]) == (0, True)


PERIODIC = """
import os, time
folder = os.environ["HAI_CHECKPOINT_DIR"]
print("up", flush=True)
while not os.path.exists("save"):
    time.sleep(0.01)
with open(folder + "/draft", "w") as file:
    file.write("1")
os.rename(folder + "/draft", folder + "/model-1")
print("saved", flush=True)
time.sleep(600)
"""


def test_one_that_saves_now_and_then_is_ended_when_its_next_checkpoint_is_there(bench, service, checkpoints) -> None:
    bench.python(PERIODIC, profile="auto", patience_s=LONG_S, env={"HAI_CHECKPOINT_DIR": str(checkpoints)})
    bench.printed("up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "save").touch()
    status = bench.wait()
    assert (status["exit_code"], status["caught"]) == (143, False)
    assert status["checkpoint"]["source"] == "seen"
    assert status["checkpoint"]["path"] == str(checkpoints / "model-1")
    assert seconds(status["checkpoint"]["at"]) >= seconds(status["notified_at"])
    wait_for("the report of the save", lambda: "saved" in service.kinds())
    (report,) = [report for report in service.reports if report["kind"] == "saved"]
    assert (report["source"], report["at"]) == ("seen", status["checkpoint"]["at"])


SLOW = """
import os, time
path = os.environ["HAI_CHECKPOINT_DIR"] + "/model.pt"
print("up", flush=True)
step = 0
while True:
    step += 1
    with open(path, "w") as file:
        file.write("begin %d " % step)
        for _ in range(30):
            file.write("x" * 100)
            file.flush()
            time.sleep(0.02)
        file.write(" end %d" % step)
    time.sleep(0.01)
"""


@pytest.mark.parametrize("profile", ["auto", "sigterm", "slurm"])
def test_a_file_that_is_written_in_place_is_never_torn_before_the_deadline(
    bench, service, checkpoints, profile
) -> None:
    bench.python(SLOW, profile=profile, patience_s=0.1, env={"HAI_CHECKPOINT_DIR": str(checkpoints)})
    bench.printed("up")
    path = checkpoints / "model.pt"
    wait_for("the file to have grown", lambda: path.exists() and path.stat().st_size > 500)
    service.notify()
    status = bench.wait()
    words = path.read_text().split()
    assert (words[0], words[-2]) == ("begin", "end")
    assert words[1] == words[-1]
    assert (status["exit_code"], status["caught"]) == (138 if profile == "slurm" else 143, False)
    assert (status["checkpoint"]["source"], status["checkpoint"]["path"]) == ("seen", str(path))
    assert seconds(status["checkpoint"]["at"]) >= seconds(status["notified_at"])


def test_what_was_being_written_when_it_was_ended_at_the_deadline_is_no_evidence(bench, service, checkpoints) -> None:
    supervisor = bench.python(
        "import os, time\nfile = open(os.environ['HAI_CHECKPOINT_DIR'] + '/model.pt', 'w')\nprint('up', flush=True)\n"
        "while True:\n    file.write('x'); file.flush(); time.sleep(0.05)",
        profile="auto",
        patience_s=0.1,
        env={"HAI_CHECKPOINT_DIR": str(checkpoints)},
    )
    bench.printed("up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    with pytest.raises(AssertionError):
        wait_for("the supervisor to end", lambda: supervisor.poll() is not None, within=2)
    supervisor.terminate()
    status = bench.wait()
    assert (status["exit_code"], status["checkpoint"]) == (143, None)


def test_a_checkpoint_that_is_written_elsewhere_is_not_torn_either_and_seen(bench, service, checkpoints) -> None:
    bench.python(SLOW.replace('os.environ["HAI_CHECKPOINT_DIR"]', repr(str(checkpoints))), profile="sigterm")
    bench.printed("up")
    path = checkpoints / "model.pt"
    wait_for("the file to have grown", lambda: path.exists() and path.stat().st_size > 500)
    service.notify()
    status = bench.wait()
    words = path.read_text().split()
    assert words[1] == words[-1]
    assert (status["checkpoint"]["source"], status["checkpoint"]["path"]) == ("seen", str(path))


def test_a_log_that_is_open_for_writing_all_the_time_holds_nothing_up(bench, service, checkpoints) -> None:
    bench.python(
        "import os, time\nlog = open(os.environ['HAI_CHECKPOINT_DIR'] + '/train.log', 'w')\n"
        "other = open('history.txt', 'w')\nprint('up', flush=True)\n"
        "while True:\n    log.write('x'); log.flush(); other.write('x'); other.flush(); time.sleep(0.02)",
        profile="auto",
        patience_s=0.5,
        env={"HAI_CHECKPOINT_DIR": str(checkpoints)},
    )
    bench.printed("up")
    service.notify()
    status = bench.wait()
    assert (status["exit_code"], status["checkpoint"]) == (143, None)


def test_what_is_watched_counts_as_a_checkpoint(bench, service, tmp_path) -> None:
    bench.python(
        "import time\nprint('up', flush=True)\nopen('mine', 'w').write('1')\ntime.sleep(600)",
        profile="auto",
        watch=["mine"],
    )
    bench.printed("up")
    wait_for("a checkpoint", lambda: bench.status()["checkpoint"])
    assert bench.status()["checkpoint"]["path"] == str(bench.folder / "mine")


AGENT = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"agent heard\\n"))
code = open("worker.py").read()
workers = [
    subprocess.Popen([sys.executable, "worker.py"], env={**os.environ, "LOCAL_RANK": str(n)}) for n in range(2)
]
while all(worker.poll() is None for worker in workers):
    time.sleep(0.01)
for worker in workers:
    worker.terminate()
for worker in workers:
    worker.wait()
sys.exit(1)
"""


def test_of_torchruns_workers_the_one_with_a_handler_is_told_and_the_other_waits_for_it(bench, service) -> None:
    bench.folder.mkdir()
    (bench.folder / "torchrun").write_text(AGENT)
    (bench.folder / "worker.py").write_text(
        "import os, signal, sys, time\n"
        "def save(*_):\n    print('saving', flush=True); time.sleep(2); print('saved', flush=True); os._exit(0)\n"
        "if os.environ['LOCAL_RANK'] == '1':\n    signal.signal(signal.SIGTERM, save)\n"
        # One write for the whole line: the workers write to the same pipe.
        "os.write(1, b'up %s\\n' % os.environb[b'LOCAL_RANK'])\ntime.sleep(600)\n"
    )
    bench.start(sys.executable, "torchrun", profile="auto", patience_s=0.2)
    bench.printed("up 0")
    bench.printed("up 1")
    service.notify()
    status = bench.wait()
    assert bench.lines()[2:] == ["saving", "saved"]
    # The other worker is ended by the agent or by the supervisor, whichever comes first: `caught` tells which.
    assert status["exit_code"] == 1


def test_the_signal_of_ones_own_wins_over_the_profile(bench, service) -> None:
    bench.start(sys.executable, "-c", TWO, "SIGTERM", "SIGUSR2", profile="auto", signal="USR2")
    bench.printed("up")
    service.notify()
    assert bench.wait()["exit_code"] == 0
    assert bench.lines() == ["up", "heard SIGUSR2"]


def test_a_signal_may_be_sent_some_time_before_the_deadline(bench, service) -> None:
    bench.start(sys.executable, "-c", TWO, "SIGUSR1", profile="auto", signal="USR1", signal_before_s=60, patience_s=0.1)
    bench.printed("up")
    service.notify(deadline="2126-01-01T00:02:00Z")
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    with pytest.raises(AssertionError):
        wait_for("a second line", lambda: len(bench.lines()) > 1, within=1)
    assert bench.status()["signalled"] is False
    soon = datetime.fromtimestamp(time.time() + 59.9).astimezone().isoformat()
    service.notify(revision=2, deadline=soon)
    bench.printed("heard SIGUSR1")
    assert bench.wait()["signalled"] is True


def test_a_signal_of_ones_own_does_not_kill_a_job_that_polls(bench, service) -> None:
    bench.python(JOB.format(first="job.should_suspend(); open('go', 'w')"), profile="auto", signal="USR1")
    bench.printed("up")
    service.notify()
    status = bench.wait()
    assert (status["exit_code"], status["done"], status["caught"]) == (0, True, None)


def test_a_bad_signal_is_named(bench) -> None:
    status = bench.run("true", signal="KILL")
    assert status["start_error"] == "spec.json: signal is 'KILL'; it must be one of TERM, INT, USR1, USR2"


def test_reports_of_the_job_cannot_say_that_they_were_seen(bench) -> None:
    report = json.dumps({"kind": "saved", "at": "2026-01-01T00:00:00Z", "step": 3, "source": "seen"})
    bench.start(
        "sh",
        "-c",
        f"cd $HAI_RUNTIME_DIR; echo '{report}' > draft; mv draft reports/1.json; sleep 600",
    )
    wait_for("a checkpoint", lambda: bench.status().get("checkpoint"))
    assert bench.status()["checkpoint"]["source"] == "told"
