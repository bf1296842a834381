"""The parts of .ci/run that go on beside each other: none fails unseen, none is left running, all is shown."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from kit.waiting import wait_for

ROOT = Path(__file__).parents[3]
SCRIPT = f'set -euo pipefail\nlogs=$PWD\n. "{ROOT}/.ci/parts"\ntrap end_parts EXIT\n'
#: Much longer than anything here takes.
SOON_S = 60.0
#: A part that tidies up when it is interrupted, and not before.
TIDY = """
import pathlib, signal, sys, time
def leave(*_):
    print("tidied up", flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, leave)
pathlib.Path("up").touch()
time.sleep(600)
"""


def script(lines: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "tidy.py").write_text(TIDY)
    return subprocess.run(
        ["bash", "-c", SCRIPT + lines], cwd=folder, capture_output=True, text=True, timeout=SOON_S, check=False
    )


def test_parts_go_on_beside_each_other_and_what_they_say_is_shown_whole(tmp_path: Path) -> None:
    # Each waits for a file of the other.
    done = script(
        """
        begin one bash -c 'echo one begins; touch a; until [ -e b ]; do sleep 0.01; done; echo one ends'
        begin other bash -c 'echo other begins; touch b; until [ -e a ]; do sleep 0.01; done; echo other ends >&2'
        finish one other
        echo went on
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout
    order = ["one begins", "one ends", "== one passed after 0 min", "other begins", "other ends", "went on"]
    assert sorted(order, key=said.index) == order


def test_the_time_of_a_part_is_until_its_own_end_however_late_it_is_asked_for(tmp_path: Path) -> None:
    lines = "begin quick true\nuntil [ -s quick.ended ]; do sleep 0.01; done\nSECONDS=$((SECONDS + 600))\nfinish quick"
    done = script(lines, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "== quick passed after 0 min" in done.stdout


def test_a_part_that_fails_ends_the_script_after_all_have_been_shown(tmp_path: Path) -> None:
    done = script(
        """
        begin bad bash -c 'echo bad; exit 7'
        begin good bash -c 'echo good'
        finish bad good
        echo went on
        """,
        tmp_path,
    )
    assert done.returncode != 0
    assert "== bad FAILED (status 7)" in done.stdout
    assert "good\n== good passed" in done.stdout
    assert "went on" not in done.stdout


def test_a_part_that_is_killed_has_failed(tmp_path: Path) -> None:
    done = script("begin killed bash -c 'kill -9 $$'\nfinish killed", tmp_path)
    assert done.returncode != 0
    assert "== killed FAILED (status 137)" in done.stdout


def test_a_step_that_fails_ends_the_script_with_its_status_and_interrupts_what_runs_beside_it(tmp_path: Path) -> None:
    done = script(
        """
        begin tidy python3 tidy.py
        step wait bash -c 'until [ -e up ]; do sleep 0.01; done'
        step bad bash -c 'exit 9'
        echo went on
        """,
        tmp_path,
    )
    assert done.returncode == 9
    assert "== wait passed" in done.stdout
    assert "== bad FAILED (status 9)" in done.stdout
    assert "went on" not in done.stdout
    assert done.stdout.endswith("== tidy, which ran beside the others and was not waited for\ntidied up\n")


def test_what_does_not_leave_when_it_is_interrupted_is_killed_with_all_that_it_has_started(tmp_path: Path) -> None:
    done = script(
        """
        tidy_up_s=1
        begin deaf bash -c 'trap "" INT; sleep 600 & echo $! >child; touch up; wait'
        step wait bash -c 'until [ -e up ]; do sleep 0.01; done'
        """,
        tmp_path,
    )
    assert done.returncode == 0
    child = int((tmp_path / "child").read_text())
    wait_for("the child to end", lambda: not running(child))


def test_ctrl_c_interrupts_the_parts_too(tmp_path: Path) -> None:
    (tmp_path / "tidy.py").write_text(TIDY)
    words = ["bash", "-c", SCRIPT + "begin tidy python3 tidy.py\nfinish tidy"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        wait_for("the part to begin", (tmp_path / "up").exists)
        # As a terminal does it: to all in the foreground.
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=SOON_S)
    assert process.returncode != 0
    assert "tidied up" in said


def running(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
