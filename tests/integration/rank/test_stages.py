"""Shells around a job: after the notice they start no more commands, and shells with a trap run their trap."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from hai_client.linux.processes import read_arguments, read_program
from kit.waiting import wait_for

LONG_S = 300
SHELLS = [name for name in ("bash", "dash", "zsh", "ksh") if shutil.which(name)]
#: They run an EXIT trap when SIGTERM ends them, too.
RUN_EXIT_TRAPS = ("bash", "ksh")
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


#: A stage that ends by itself when the test says so.
WAITS = "import os, sys, time\nprint(sys.argv[1], 'up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
#: Scripts whose next stage would hold the nodes until the end of the notice. `sleep` itself is a builtin of ksh.
NEXT = {
    "line": '"$PYTHON" stage.py one\nenv sleep 600\n',
    "last": '"$PYTHON" stage.py one\nexec env sleep 600\n',
    "and": '"$PYTHON" stage.py one && env sleep 600\n',
    "pipe": '"$PYTHON" stage.py one | cat\nenv sleep 600 | tee output\n',
    "loop": 'for each in one two; do "$PYTHON" stage.py one; env sleep 600; done\n',
    "subshell": '( "$PYTHON" stage.py one; env sleep 600 ); env sleep 600\n',
    "inner": "sh -c '\"$PYTHON\" stage.py one; env sleep 600'\nenv sleep 600\n",
    "inner ends": "sh -c '\"$PYTHON\" stage.py one; true'\nenv sleep 600\n",
    "taken": 'result=$("$PYTHON" stage.py one)\nenv sleep 600\n',
    "cleaned": 'trap "touch cleaned" EXIT\n"$PYTHON" stage.py one\nenv sleep 600\n',
    "behind": '"$PYTHON" stage.py one &\nwait $!\nenv sleep 600\n',
    "function": 'next() { env sleep 600; }\n"$PYTHON" stage.py one\nnext\n',
    "set -e": 'set -e\n"$PYTHON" stage.py one\nenv sleep 600\n',
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", NEXT.values(), ids=NEXT)
def test_nor_does_it_stay_after_a_stage_that_comes_to_its_end_untold(bench, service, text, shell) -> None:
    """No process was told: a shell whose last command has ended by itself may end by itself too."""
    script(bench, text, WAITS, shell, profile="auto", patience_s=LONG_S)
    wait_for("the first process", lambda: "up" in bench.log() or bench.processes())
    wait_for(
        "the stage to run", lambda: any("stage.py" in word for pid in bench.processes() for word in read_arguments(pid))
    )
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    status = bench.wait()
    # After an EXIT trap ksh ends with 256 + 15, of which 15 is left.
    code = 15 if "cleaned" in text and shell == "ksh" else 143
    assert (status["exit_code"], status["signalled"]) == (code, True)
    assert (bench.folder / "cleaned").exists() == ("cleaned" in text and shell in RUN_EXIT_TRAPS)


def test_a_stage_waits_for_what_still_works_beside_it(bench, service) -> None:
    """A process in the background is not ended because a next stage has started."""
    text = '"$PYTHON" stage.py other &\ncat gate\nsleep 600\n'
    script(bench, text, WAITS + "print('saved', flush=True)\n", profile="auto", patience_s=LONG_S)
    os.mkfifo(bench.folder / "gate")
    gate = os.open(bench.folder / "gate", os.O_WRONLY)
    bench.printed("other up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    os.close(gate)
    wait_for("the next stage", lambda: any(read_program(pid) == "sleep" for pid in bench.processes()))
    (bench.folder / "go").touch()
    status = bench.wait()
    assert "saved" in bench.lines()
    assert (status["exit_code"], status["signalled"]) == (143, True)


def test_what_a_shell_became_goes_on_above_what_the_shell_had_started(bench, service) -> None:
    text = '"$PYTHON" stage.py other &\ncat gate\nexec "$PYTHON" stage.py last\n'
    script(bench, text, WAITS + "print(sys.argv[1], 'saved', flush=True)\n", profile="auto", patience_s=LONG_S)
    os.mkfifo(bench.folder / "gate")
    gate = os.open(bench.folder / "gate", os.O_WRONLY)
    bench.printed("other up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    os.close(gate)
    bench.printed("last up")
    (bench.folder / "go").touch()
    status = bench.wait()
    assert {"other saved", "last saved"} <= set(bench.lines())
    assert status["exit_code"] == 0


def test_a_stage_starts_helpers_of_its_own_after_the_notice(bench, service) -> None:
    forks = WAITS + "import subprocess\nprint(subprocess.check_output(['sh', '-c', 'expr 40 + 2; date > helped']))\n"
    script(bench, '"$PYTHON" stage.py one\necho finished\n', forks, profile="auto", patience_s=LONG_S)
    bench.printed("one up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    status = bench.wait()
    assert bench.lines() == ["one up", "b'42\\n'", "finished"]
    assert (bench.folder / "helped").read_text()
    assert (status["exit_code"], status["signalled"]) == (0, False)


def test_a_trap_may_start_what_it_likes(bench, service) -> None:
    text = "trap \"bash -c 'expr 40 + 2; date > requeued'\" TERM\nbash -c '\"$PYTHON\" stage.py one; :'\n"
    script(bench, text, HANDLER, profile="auto", patience_s=LONG_S)
    bench.printed("one up")
    service.notify()
    bench.wait()
    assert {"one told", "42"} <= set(bench.lines())
    assert (bench.folder / "requeued").read_text()


def test_what_a_script_does_at_its_end_may_need_a_shell_of_its_own(bench, service) -> None:
    text = "trap \"bash -c 'expr 40 + 2; date > cleaned'\" EXIT\n" + STAGES
    script(bench, text, NAIVE, profile="auto", patience_s=0.2, term_wait_s=60)
    bench.printed("one up")
    service.notify()
    bench.wait()
    assert "42" in bench.lines()
    assert "two up" not in bench.lines()
    assert (bench.folder / "cleaned").read_text()


def test_a_stage_that_begins_before_the_signal_of_its_task_is_due_gets_it_then(bench, service) -> None:
    text = '"$PYTHON" stage.py one\n"$PYTHON" told.py two\n"$PYTHON" told.py three\n'
    script(bench, text, WAITS, profile="sigterm", signal="USR1", signal_before_s=1)
    (bench.folder / "told.py").write_text(HANDLER.replace("SIGTERM", "SIGUSR1"))
    bench.printed("one up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "go").touch()
    bench.printed("two up")
    service.notify(2, deadline="2026-01-01T00:00:00Z")
    bench.wait()
    assert bench.lines() == ["one up", "two up", "two told"]


def test_a_script_whose_last_stage_comes_to_its_end_has_come_to_its_own(bench, service) -> None:
    waits = (
        "import os, sys, time\nprint(sys.argv[1], 'up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
    )
    script(bench, '"$PYTHON" stage.py one\necho finished\n', waits, profile="auto", patience_s=LONG_S)
    bench.printed("one up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
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
    """bash catches SIGTERM because of an EXIT trap; that does not mean that the script wants the signal first."""
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
    """`tee` would die of the signal, and the worker's message about its save would be lost."""
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
    """The worker would wait for a stopped shell without end. The shell's next command is ended, and so is the shell."""
    more = "    print('x' * 200_000, flush=True); print('saved', file=sys.stderr, flush=True)\n    sys.exit"
    writes = HANDLER.replace("    sys.exit", more).replace('"up"', '"up", file=sys.stderr')
    script(bench, 'result=$("$PYTHON" stage.py one)\n"$PYTHON" stage.py two\necho goes on\n', writes)
    bench.printed("one up")
    service.notify()
    bench.wait()
    assert "saved" in bench.lines()
    assert "goes on" not in bench.lines()
