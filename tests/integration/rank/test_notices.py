"""Notices: how a notice reaches a job, and how the job leaves."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest

from hai_client.linux.processes import read_program
from hai_client.rank.shared.times import rfc3339
from kit.waiting import wait_for

#: A job that prints which signal came, then goes on.
EARS = """
import os, signal, sys, time
name = (sys.argv[1:] or ["main"])[0]
def say(text):
    os.write(1, f"{name} {text}\\n".encode())
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda number, _: say(f"heard {signal.Signals(number).name}"))
say("up")
while True:
    time.sleep(0.01)
    if os.path.exists("go"):
        sys.exit(0)
"""
SAVES = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: (print('told', flush=True), sys.exit(0)))\n"


#: A job that records when its signal came, in seconds since the epoch.
WHEN = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print(repr(time.time()), flush=True), sys.exit(0)))
print("up", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("profile", ["auto", "sigterm"])
def test_the_signals_of_a_gang_come_at_the_moment_that_the_service_has_named(bench, service, profile) -> None:
    bench.python(WHEN, profile=profile, patience_s=300)
    bench.printed("up")
    moment = time.time() + 0.05
    service.notify(signal_at=rfc3339(int(moment * 1e9)))
    assert bench.wait()["exit_code"] == 0
    # The kernel may wake a sleeper up some microseconds early by the other clock.
    assert float(bench.lines()[-1]) >= moment - 0.001


@pytest.mark.parametrize("signal_at", [None, "2000-01-01T00:00:00Z", "2126-01-01T00:01:00Z", "soon"])
def test_no_moment_holds_the_signals_up(bench, service, signal_at) -> None:
    """Signals are not delayed by a moment that is over, that comes from a wrong clock, or that is missing."""
    bench.python(WHEN, profile="auto", patience_s=300)
    bench.printed("up")
    service.notify(signal_at=signal_at)
    assert bench.wait()["exit_code"] == 0


def test_a_notice_reaches_the_job_at_once(bench, service) -> None:
    bench.python(SAVES + "print('up', flush=True)\ntime.sleep(600)")
    bench.printed("up")
    before = time.monotonic()
    service.notify()
    bench.printed("told")
    assert time.monotonic() - before < 10, (
        "the question that was waiting was answered; the next would be asked after 30 s"
    )
    status = bench.wait()
    assert status["exit_code"] == 0
    assert status["notified_at"] is not None
    assert status["signalled"] is True
    notice = json.loads((bench.folder / "runtime" / "notice.json").read_text())
    assert (notice["schema"], notice["reason"], notice["revision"]) == (1, "turn_over", 1)
    assert service.tokens == {"Bearer run:41.2:abc"}


def test_the_log_says_once_why_the_job_was_told_to_leave_and_before_what_it_says_then(bench, service) -> None:
    bench.start(sys.executable, "-c", EARS)
    bench.printed("main up")
    service.notify(revision=1, deadline="2126-01-01T00:07:00Z")
    bench.printed("main heard SIGTERM")
    service.notify(revision=2, deadline="2126-01-01T00:09:00Z")
    wait_for("two reports", lambda: len(service.reports) == 2)
    (bench.folder / "go").touch()
    bench.wait()
    told = (
        "[hai] told to leave by 00:07:00 UTC: its turn was over and a task of equal priority waited;"
        " an error that a launcher such as torchrun prints after this is its way to end"
    )
    assert bench.story() == ["main up", told, "main heard SIGTERM"]


def test_the_service_is_told_that_the_notice_was_received(bench, service) -> None:
    bench.start(sys.executable, "-c", EARS)
    bench.printed("main up")
    service.notify(revision=3)
    wait_for("a report", lambda: service.reports)
    assert (service.reports[0]["kind"], service.reports[0]["revision"]) == ("received", 3)
    assert service.reports[0]["at"] == bench.status()["notified_at"]


def test_an_extension_changes_the_file_and_sends_no_second_signal(bench, service) -> None:
    bench.start(sys.executable, "-c", EARS)
    bench.printed("main up")
    service.notify(revision=1)
    bench.printed("main heard SIGTERM")
    first = bench.status()["notified_at"]
    service.notify(revision=2, deadline="2126-01-01T00:09:00Z")
    wait_for("the later deadline", lambda: "00:09:00" in (bench.folder / "runtime" / "notice.json").read_text())
    wait_for("two reports", lambda: len(service.reports) == 2)
    (bench.folder / "go").touch()
    status = bench.wait()
    assert bench.lines() == ["main up", "main heard SIGTERM"]
    assert status["notified_at"] == first


@pytest.mark.parametrize(("profile", "heard"), [("slurm", ["main heard SIGUSR1"]), ("cooperative", []), ("kill", [])])
def test_the_profile_names_the_signal(bench, service, profile, heard) -> None:
    bench.start(sys.executable, "-c", EARS, profile=profile)
    bench.printed("main up")
    service.notify()
    wait_for("a report", lambda: service.reports)
    for line in heard:
        bench.printed(line)
    (bench.folder / "go").touch()
    status = bench.wait()
    assert bench.lines() == ["main up", *heard]
    assert status["signalled"] is bool(heard), "a notice alone ends no command"


def test_a_service_that_comes_late_and_comes_back_is_found(bench, service) -> None:
    service.stop()
    bench.start(sys.executable, "-c", EARS)
    bench.printed("main up")
    service.start()
    wait_for("a poll for notices", lambda: service.polls)
    service.stop()
    service.start()
    service.notify()
    bench.printed("main heard SIGTERM")
    wait_for("the report that the notice was received", lambda: service.kinds() == ["received"])


def test_workers_under_shells_get_the_signal_and_their_helpers_do_not(bench, service) -> None:
    (bench.folder).mkdir()
    (bench.folder / "ears.py").write_text(EARS)
    (bench.folder / "train.py").write_text(
        "import subprocess, sys\nsys.argv = ['x', 'worker']\n"
        "helper = subprocess.Popen([sys.executable, 'ears.py', 'helper'])\n" + EARS
    )
    (bench.folder / "run.sh").write_text('#!/bin/bash\n"$PYTHON" train.py worker\necho shell goes on\n')
    (bench.folder / "run.sh").chmod(0o700)
    bench.start("sh", "-c", "./run.sh; true", env={"PYTHON": sys.executable})
    bench.printed("worker up")
    bench.printed("helper up")
    service.notify()
    bench.printed("worker heard SIGTERM")
    (bench.folder / "go").touch()
    status = bench.wait()
    # The status of the worker, with which the shell would have ended; not that of the shell, which was ended too.
    assert (status["exit_code"], status["signal"], status["caught"]) == (0, None, True)
    assert sorted(bench.lines()) == ["helper up", "worker heard SIGTERM", "worker up"]


AGENT = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"agent heard\\n"))
os.write(1, b"agent up\\n")
while not os.path.exists("spawn"):
    time.sleep(0.01)
workers = [
    subprocess.Popen([sys.executable, "ears.py", f"worker-{n}"], env={**os.environ, "LOCAL_RANK": str(n)})
    for n in range(2)
]
other = subprocess.Popen([sys.executable, "ears.py", "other"])
left = dict(enumerate(workers))
while left:
    for n in [n for n, worker in left.items() if worker.poll() is not None]:
        if left.pop(n).returncode:
            os.write(1, f"worker-{n} died\\n".encode())
    time.sleep(0.01)
# What is left when this ends gets SIGTERM by right.
other.wait()
"""


def prepare_agent(bench) -> None:
    bench.folder.mkdir()
    (bench.folder / "ears.py").write_text(EARS)
    (bench.folder / "torchrun").write_text(AGENT)
    bench.prepare(sys.executable, "torchrun", term_wait_s=5)


def test_of_a_tree_like_torchruns_only_the_workers_get_the_signal(bench, service) -> None:
    prepare_agent(bench)
    (bench.folder / "spawn").touch()
    bench.start()
    for name in ("worker-0", "worker-1", "other"):
        bench.printed(f"{name} up")
    service.notify()
    bench.printed("worker-0 heard SIGTERM")
    bench.printed("worker-1 heard SIGTERM")
    (bench.folder / "go").touch()
    assert bench.wait()["exit_code"] == 0
    assert len(bench.lines()) == 6


def test_workers_that_an_agent_starts_after_the_notice_get_the_signal_too(bench, service) -> None:
    prepare_agent(bench)
    bench.start()
    bench.printed("agent up")
    service.notify()
    wait_for("a report", lambda: service.reports)
    (bench.folder / "spawn").touch()
    # A young worker without a handler yet dies of the signal.
    for name in ("worker-0", "worker-1"):
        wait_for(
            f"{name} to hear SIGTERM or to die",
            lambda name=name: {f"{name} heard SIGTERM", f"{name} died"} & set(bench.lines()),
        )
    (bench.folder / "go").touch()
    assert bench.wait()["exit_code"] == 0
    assert not {"agent heard", "other heard SIGTERM"} & set(bench.lines())


def test_a_script_that_is_its_own_worker_number_0_is_signalled_with_the_others(bench, service) -> None:
    bench.folder.mkdir()
    (bench.folder / "ears.py").write_text(EARS)
    (bench.folder / "fit.py").write_text(
        "import os, subprocess, sys\n"
        "subprocess.Popen([sys.executable, 'ears.py', 'one'], env={**os.environ, 'LOCAL_RANK': '1'})\n"
        "sys.argv = ['x', 'zero']\n" + EARS
    )
    bench.start(sys.executable, "fit.py")
    bench.printed("one up")
    bench.printed("zero up")
    service.notify()
    bench.printed("one heard SIGTERM")
    bench.printed("zero heard SIGTERM")


def test_a_shell_that_dies_leaves_its_saving_worker_the_time_it_needs(bench, service) -> None:
    saver = (
        "import signal, sys, time\n"
        "def save(*_):\n    print('saving', flush=True); time.sleep(1.0); print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save); print('up', flush=True); time.sleep(600)\n"
    )
    bench.folder.mkdir()
    (bench.folder / "saver.py").write_text(saver)
    bench.start("sh", "-c", f"{sys.executable} saver.py & echo $! > pid; wait", term_wait_s=0.1)
    bench.printed("up")
    service.notify()
    bench.printed("saving")
    os.kill(bench.status()["pid"], signal.SIGKILL)
    status = bench.wait()
    assert bench.lines() == ["up", "saving", "saved"]
    assert (status["exit_code"], status["signal"]) == (137, 9)


def test_told_to_kill_it_does_not_wait_for_a_worker_that_saves_without_end(bench, service) -> None:
    supervisor = bench.python(
        "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: print('told', flush=True))\n"
        "print('up', flush=True)\nwhile True: time.sleep(1)"
    )
    bench.printed("up")
    service.notify()
    bench.printed("told")
    supervisor.terminate()
    assert bench.wait()["exit_code"] == 137


JOB = """
from hai_client import job
import time
job.should_suspend()
print('up', flush=True)
while not job.should_suspend():
    time.sleep(0.01)
"""


def test_a_job_that_polls_saves_and_is_done(bench, service) -> None:
    bench.python(JOB + "job.saving(300)\njob.set_state('epoch 3')\njob.suspended(step=12, path='/ckpt/12')")
    bench.printed("up")
    service.notify()
    status = bench.wait()
    # The signal may still come while the interpreter shuts down.
    assert status["exit_code"] in (0, 143)
    assert (status["done"], status["done_all"]) == (True, False)
    assert (status["checkpoint"]["step"], status["checkpoint"]["path"]) == (12, "/ckpt/12")
    assert status["job_state"] == "epoch 3"
    assert sorted(service.kinds()) == ["done", "received", "saved", "saving", "state"]
    own = [kind for kind in service.kinds() if kind != "received"]
    assert own == ["saving", "state", "saved", "done"]


def test_a_report_is_repeated_until_the_service_takes_it(bench, service) -> None:
    service.refuse_reports = 2
    bench.python("from hai_client import job\nimport time\njob.saved(1)\njob.saved(2)\ntime.sleep(600)")
    wait_for("two reports", lambda: len(service.reports) == 2)
    assert [report["step"] for report in service.reports] == [1, 2]
    assert bench.status()["checkpoint"]["step"] == 2


def test_a_node_is_done_when_the_last_of_its_workers_is(bench, service) -> None:
    bench.folder.mkdir()
    (bench.folder / "worker.py").write_text(
        "import sys, time, os\nfrom hai_client import job\n"
        "if os.environ['LOCAL_RANK'] == '1':\n    print('waits', flush=True)\n"
        "    while not os.path.exists('go'): time.sleep(0.01)\n"
        "job.suspended(step=1)"
    )
    bench.start(
        "sh",
        "-c",
        f"LOCAL_WORLD_SIZE=2 LOCAL_RANK=0 {sys.executable} worker.py; "
        f"LOCAL_WORLD_SIZE=2 LOCAL_RANK=1 {sys.executable} worker.py; sleep 600",
    )
    bench.printed("waits")
    wait_for("a checkpoint", lambda: bench.status()["checkpoint"])
    assert bench.status()["done"] is False
    assert "done" not in service.kinds()
    (bench.folder / "go").touch()
    wait_for("the rank to be done", lambda: bench.status()["done"])
    wait_for("one report that it is done", lambda: service.kinds().count("done") == 1)


def test_scontrol_requeue_is_done_for_every_rank(bench, service) -> None:
    from hai_client.launching.starting import slurm_commands

    bench.start(
        "sh",
        "-c",
        f"PATH={slurm_commands()}:$PATH; trap 'scontrol requeue $SLURM_JOB_ID' USR1; echo up; "
        "scontrol show hostnames; while :; do sleep 0.05; done",
        profile="slurm",
        env={"SLURM_JOB_ID": "41", "SLURM_NODELIST": "node-1,node-2"},
    )
    bench.printed("node-2")
    os.kill(bench.status()["pid"], signal.SIGUSR1)
    wait_for("all ranks to be done", lambda: bench.status()["done_all"])
    assert bench.status()["done"] is True
    wait_for("a report", lambda: service.reports)
    assert (service.reports[0]["kind"], service.reports[0]["all_ranks"]) == ("done", True)


def test_a_report_that_makes_no_sense_is_dropped_with_a_word_in_the_log(bench) -> None:
    bench.start("sh", "-c", "echo nonsense > $HAI_RUNTIME_DIR/reports/1.json; sleep 600")
    wait_for(
        "the line on the dropped report",
        lambda: any(line.startswith("[hai] report 1.json was dropped") for line in bench.lines()),
    )


def test_one_that_saves_because_of_its_notice_gets_no_second_signal_at_the_deadline(bench, service) -> None:
    """A second one would begin its save again. Others of the rank get theirs."""
    bench.folder.mkdir()
    (bench.folder / "ears.py").write_text(EARS)
    line = f"{sys.executable} ears.py & (sleep 1000; echo ended) & wait"
    supervisor = bench.start("bash", "-c", line, profile="auto", term_wait_s=300)
    bench.printed("main up")
    service.notify()
    bench.printed("main heard SIGTERM")
    supervisor.terminate()
    wait_for("the other process to be ended", lambda: "sleep" not in map(read_program, bench.processes()))
    (bench.folder / "go").touch()
    bench.wait()
    assert bench.lines().count("main heard SIGTERM") == 1


def test_under_slurms_profile_one_without_a_handler_comes_to_its_end(bench, service) -> None:
    code = "import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)"
    bench.python(code, profile="slurm", patience_s=300)
    bench.printed("up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    status = bench.wait()
    assert (status["exit_code"], status["signalled"], status["caught"]) == (0, False, None)
