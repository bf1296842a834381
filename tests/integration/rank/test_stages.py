"""Shells around a job: after the notice they start nothing more, and those with a trap are left to it."""

from __future__ import annotations

import shutil
import sys

import pytest

LONG_S = 300
SHELLS = [name for name in ("bash", "dash", "zsh", "ksh") if shutil.which(name)]
STAGES = """
"$PYTHON" stage.py one
"$PYTHON" stage.py two
"$PYTHON" stage.py three
"""
HANDLER = """
import os, signal, sys, time
name = sys.argv[1]
def leave(*_):
    print(name, "told", flush=True)
    sys.exit(int(os.environ.get("CODE", "0")))
signal.signal(signal.SIGTERM, leave)
print(name, "up", flush=True)
time.sleep(600)
"""
NAIVE = "import sys, time\nprint(sys.argv[1], 'up', flush=True)\ntime.sleep(600)\n"


def script(bench, text: str, stage: str, shell: str = "bash", **changes) -> None:
    bench.folder.mkdir()
    (bench.folder / "stage.py").write_text(stage)
    (bench.folder / "run.sh").write_text(text)
    env = {"PYTHON": sys.executable, **changes.pop("env", {})}
    bench.start(shell, "run.sh", env=env, **changes)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("profile", ["auto", "sigterm"])
def test_the_next_stage_does_not_start_after_the_notice(bench, service, shell, profile) -> None:
    script(bench, STAGES, HANDLER, shell, profile=profile)
    bench.printed("one up")
    service.notify()
    status = bench.wait()
    assert bench.lines() == ["one up", "one told"]
    assert (status["exit_code"], status["signal"], status["caught"]) == (0, None, True)


def test_how_the_stage_ended_is_how_the_rank_ended(bench, service) -> None:
    script(bench, STAGES, HANDLER, env={"CODE": "75"})
    bench.printed("one up")
    service.notify()
    assert bench.wait()["exit_code"] == 75


@pytest.mark.parametrize("profile", ["auto", "sigterm", "slurm"])
def test_nor_after_a_stage_that_does_not_catch_its_signal(bench, service, profile) -> None:
    script(bench, STAGES, NAIVE, profile=profile, patience_s=0.2)
    bench.printed("one up")
    service.notify()
    status = bench.wait()
    assert bench.lines() == ["one up"]
    number = 10 if profile == "slurm" else 15
    assert (status["exit_code"], status["signal"], status["caught"]) == (128 + number, number, False)


def test_nor_after_a_stage_that_polls(bench, service) -> None:
    polls = (
        "import sys, time\nfrom hai_client import job\njob.should_suspend()\nprint(sys.argv[1], 'up', flush=True)\n"
        "while not job.should_suspend(): time.sleep(0.01)\njob.suspended(step=1)\n"
    )
    script(bench, STAGES, polls, profile="auto", patience_s=LONG_S)
    bench.printed("one up")
    service.notify()
    status = bench.wait()
    assert bench.lines() == ["one up"]
    assert (status["exit_code"], status["done"]) == (0, True)


def test_a_stage_that_starts_after_one_that_came_to_its_end_is_ended_at_once(bench, service, eventually) -> None:
    """Nobody was told: a shell whose last command has come to its end may come to its own."""
    waits = (
        "import os, sys, time\nprint(sys.argv[1], 'up', flush=True)\n"
        "while not os.path.exists('go') or sys.argv[1] != 'one': time.sleep(0.01)\n"
    )
    script(bench, STAGES, waits, profile="auto", patience_s=LONG_S)
    bench.printed("one up")
    service.notify()
    eventually(lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    status = bench.wait()
    assert "three up" not in bench.lines()
    assert (status["exit_code"], status["signalled"]) == (143, True)


def test_a_script_whose_last_stage_comes_to_its_end_has_come_to_its_own(bench, service, eventually) -> None:
    waits = (
        "import os, sys, time\nprint(sys.argv[1], 'up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
    )
    script(bench, '"$PYTHON" stage.py one\necho finished\n', waits, profile="auto", patience_s=LONG_S)
    bench.printed("one up")
    service.notify()
    eventually(lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    status = bench.wait()
    assert bench.lines() == ["one up", "finished"]
    assert (status["exit_code"], status["signalled"]) == (0, False)


@pytest.mark.parametrize("profile", ["auto", "sigterm"])
def test_a_shell_with_a_trap_is_told_and_left_to_it(bench, service, profile) -> None:
    text = 'trap "echo trapped; touch requeue" TERM\n"$PYTHON" stage.py one\necho after\n'
    script(bench, text, HANDLER, profile=profile, patience_s=LONG_S)
    bench.printed("one up")
    service.notify()
    status = bench.wait()
    assert bench.lines() == ["one up", "one told", "trapped", "after"]
    assert status["exit_code"] == 0
    assert (bench.folder / "requeue").exists()


def test_a_script_for_sbatch_is_told_by_the_signal_of_slurm(bench, service) -> None:
    text = "trap 'echo requeue; wait $PID; exit 0' USR1 TERM\n\"$PYTHON\" stage.py one & PID=$!\nwait $PID\n"
    script(bench, text, HANDLER.replace("signal.SIGTERM", "signal.SIGUSR1"), profile="slurm")
    bench.printed("one up")
    service.notify()
    assert bench.wait()["exit_code"] == 0
    assert {"requeue", "one told"} <= set(bench.lines())


def test_what_a_script_does_at_its_end_it_does_after_its_stage(bench, service) -> None:
    """bash catches SIGTERM for the sake of an EXIT trap: that is no wish to hear of it first."""
    slow = HANDLER.replace("    sys.exit", "    time.sleep(1); print(name, 'saved', flush=True)\n    sys.exit")
    script(bench, "trap 'sleep 1; echo cleaned' EXIT\n" + STAGES, slow, term_wait_s=60)
    bench.printed("one up")
    service.notify()
    bench.wait()
    assert bench.lines() == ["one up", "one told", "one saved", "cleaned"]


def test_a_shell_that_ignores_the_signal_starts_nothing_more_either(bench, service) -> None:
    script(bench, "trap '' TERM\n" + STAGES, "import signal\nsignal.signal(15, signal.SIG_DFL)\n" + HANDLER)
    bench.printed("one up")
    service.notify()
    bench.wait()
    assert bench.lines() == ["one up", "one told"]


def test_who_reads_what_a_worker_writes_goes_on_reading(bench, service) -> None:
    """`tee` would die of the signal, and what the worker says of its save with it."""
    writes = HANDLER.replace(
        "    sys.exit", "    print('x' * 200_000, flush=True); print('saved', flush=True)\n    sys.exit"
    )
    script(bench, 'set -o pipefail\n"$PYTHON" stage.py one | tee output\n"$PYTHON" stage.py two\n', writes)
    bench.printed("one up")
    service.notify()
    status = bench.wait()
    assert (bench.folder / "output").read_text().endswith("saved\n")
    assert "two up" not in bench.lines()
    assert (status["exit_code"], status["caught"]) == (0, True)


def test_a_shell_that_takes_what_its_worker_writes_is_not_stopped(bench, service) -> None:
    """The worker would wait for the shell for ever. What the shell starts next is ended, and the shell with it."""
    more = "    print('x' * 200_000, flush=True); print('saved', file=sys.stderr, flush=True)\n    sys.exit"
    writes = HANDLER.replace("    sys.exit", more).replace('"up"', '"up", file=sys.stderr')
    script(bench, 'result=$("$PYTHON" stage.py one)\n"$PYTHON" stage.py two\necho goes on\n', writes)
    bench.printed("one up")
    service.notify()
    bench.wait()
    assert "saved" in bench.lines()
    assert "goes on" not in bench.lines()
