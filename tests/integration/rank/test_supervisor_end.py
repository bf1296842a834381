"""The end of a rank leaves no process behind, whatever the rank does."""

from __future__ import annotations

import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from kit.waiting import wait_for

STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
if os.fork():
    if sys.argv[1:] == ["leave"]:
        os._exit(0)
    time.sleep(600)
os.setsid()
if os.fork():
    os._exit(0)
print("away", flush=True)
while True:
    if os.fork():
        time.sleep(0.05)
        os.waitpid(-1, os.WNOHANG)
    else:
        time.sleep(600)
"""


@pytest.mark.parametrize("ending", ["the command leaves", "the rank is killed"])
def test_what_forks_changes_its_session_and_ignores_signals_is_gone_in_the_end(bench, ending) -> None:
    leaves = ending == "the command leaves"
    supervisor = bench.start(sys.executable, "-c", STUBBORN, "leave" if leaves else "stay")
    if not leaves:
        bench.printed("away")
        supervisor.terminate()
    status = bench.wait()
    assert bench.processes() == []
    assert status["exit_code"] == (0 if leaves else 128 + signal.SIGKILL)


def test_a_process_without_any_environment_does_not_escape(bench) -> None:
    bench.run("sh", "-c", "env -i setsid sleep 3599 & sleep 0.1")
    from hai_client.linux.processes import read_arguments, read_table

    assert not [pid for pid in read_table() if read_arguments(pid) == ["sleep", "3599"]]


def test_kill_gives_every_process_time_to_save(bench) -> None:
    supervisor = bench.python(
        "import signal, sys, time\n"
        "def leave(*_): print('saved', flush=True); sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, leave); print('up', flush=True); time.sleep(600)",
        term_wait_s=60,
    )
    bench.printed("up")
    before = time.monotonic()
    supervisor.terminate()
    assert bench.wait()["exit_code"] == 5
    assert bench.lines() == ["up", "saved"]
    assert time.monotonic() - before < 30, "it did not wait for the whole time"


def test_a_stopped_process_is_ended_too(bench) -> None:
    supervisor = bench.start("sh", "-c", "echo up; kill -STOP $$", term_wait_s=10)
    bench.printed("up")
    supervisor.terminate()
    assert bench.wait()["exit_code"] == 143


def test_repeating_the_order_to_end_does_not_restart_the_wait(bench) -> None:
    supervisor = bench.start(sys.executable, "-c", STUBBORN, "stay", term_wait_s=1)
    bench.printed("away")
    before = time.monotonic()
    while supervisor.poll() is None:
        supervisor.terminate()
        time.sleep(0.1)
        assert time.monotonic() - before < 60, "each order began the wait again"
    assert bench.processes() == []


def test_the_death_of_the_supervisor_takes_the_command_with_it(bench) -> None:
    supervisor = bench.start("sleep", "600")
    wait_for("the command to have started", lambda: bench.status().get("pid"))
    supervisor.kill()
    wait_for("every process to be gone", lambda: not bench.processes())
    assert bench.status()["state"] == "running"


def test_what_the_processes_used_is_told_in_the_end(bench) -> None:
    status = bench.run(
        sys.executable,
        "-c",
        "x = bytearray(60_000_000)\nimport time\nend = time.process_time() + 0.3\n"
        "while time.process_time() < end: pass",
    )
    assert status["usage"]["cpu_s"] >= 0.3
    assert status["usage"]["rss_peak_bytes"] >= 60_000_000


def test_output_written_just_before_the_end_is_in_the_log(bench) -> None:
    bench.run("sh", "-c", "seq 1 20000; printf last")
    assert bench.lines() == [*map(str, range(1, 20001)), "last"]


def test_a_command_that_has_ended_was_told_nothing_however_late_the_notice_and_the_order_to_end_come(
    bench, service
) -> None:
    """Processes that the command left behind take long to end; the notice and the order come during that time."""
    supervisor = bench.start(sys.executable, "-c", STUBBORN, "leave", term_wait_s=3)
    bench.printed("away")
    pid = bench.status()["pid"]
    wait_for("the process to be gone", lambda: not Path(f"/proc/{pid}").exists())
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    supervisor.terminate()
    status = bench.wait()
    assert (status["exit_code"], status["signalled"]) == (0, False)


@pytest.mark.parametrize("profile", ["sigterm", "cooperative", "kill"])
def test_a_command_that_ends_with_0_when_it_is_ended_was_told(bench, profile) -> None:
    supervisor = bench.start("sh", "-c", "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done", profile=profile)
    bench.printed("up")
    supervisor.terminate()
    status = bench.wait()
    assert (status["exit_code"], status["signalled"]) == (0, True)


def test_a_command_that_comes_to_its_end_by_itself_was_not_told(bench) -> None:
    status = bench.run("true")
    assert (status["exit_code"], status["signalled"]) == (0, False)


@pytest.mark.parametrize("report", ["[" * 5000, '{"kind":"done","at":"x","local_rank":"x"}', '{"kind":[],"at":1}'])
def test_a_report_that_makes_no_sense_ends_nothing(bench, report) -> None:
    (bench.folder.parent / "bad").write_text(report)
    code = (
        "import os, shutil, sys, time; reports = os.environ['HAI_RUNTIME_DIR'] + '/reports/'\n"
        f"shutil.copy({str(bench.folder.parent / 'bad')!r}, reports + 'x')\n"
        "os.rename(reports + 'x', reports + '1.json')\n"
        "while os.path.exists(reports + '1.json'): time.sleep(0.01)\n"
        "sys.exit(3)"
    )
    status = bench.run(sys.executable, "-c", code)
    assert (status["state"], status["exit_code"]) == ("exited", 3)
    assert any("report 1.json was dropped" in line for line in bench.lines())


def test_the_end_is_recorded_at_once_and_the_last_metrics_reach_a_service_that_comes_back(bench, service) -> None:
    service.stop()
    supervisor = bench.start("sleep", "2.2")
    wait_for("the end of the rank", lambda: bench.status().get("ended_at"))
    assert supervisor.poll() is None, "it still has metrics to send"
    service.start()
    assert supervisor.wait(30) == 0
    assert [set(point) for point in service.points] in ([{"at", "values"}], [{"at", "values"}] * 2)


def test_a_supervisor_whose_command_does_nothing_sleeps(bench) -> None:
    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    bench.run("sleep", "3")
    assert spent() - before < 1, "seconds of processor time, most of them for its start"


def test_a_command_that_somebody_kills_has_not_run_out_of_memory(bench) -> None:
    status = bench.run("sh", "-c", "kill -9 $$")
    assert (status["exit_code"], status["out_of_memory"]) == (137, False)
