"""Bad input, and faults, on the whole platform: each is told in one line, and nothing is lost or left running."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import BIN, ROOT, Platform, processes_with
from hai_client.errors import Unavailable
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.e2e

#: Forks, leaves its session, and ignores every signal that can be ignored; its arguments mark it.
ESCAPING = """
import os, signal, time
def stay():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        time.sleep(1000)
if os.fork() == 0:
    stay()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        stay()
    os._exit(0)
print("escaped", flush=True)
stay()
"""


def task(platform: Platform, number: int) -> dict[str, Any]:
    """The task as the command shows it; empty while the service is away."""
    try:
        found = platform.client().task(number)
    except Unavailable:
        return {}
    return {"state": str(found.state), "runs": len(found.runs)}


def submit(platform: Platform, name: str, *words: str) -> int:
    return int(platform.json("submit", "--name", name, *words)["id"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["submit", "--", "python", "missing.py"], "missing.py"),
        (["submit", "--", "./missing"], "./missing"),
        (["submit", "--cwd", "/no/such/folder", "--", "true"], "/no/such/folder"),
        (["submit", "-e", "HAI_RANK=1", "--", "true"], "HAI_RANK"),
        (["submit", "-g", "nogroup", "--", "true"], "nogroup"),
        (["submit", "-n", "99", "--", "true"], "99"),
        (["run", "missing.yml"], "missing.yml"),
        (["list", "--user", "nobody"], "nobody"),
        (["up", "--port", "PORT", "--state-dir", "OTHER"], "port"),
        (["up", "--port", "1", "--state-dir", "STATE"], "another `hai up`"),
    ],
)
def test_wrong_input_is_status_2_and_one_line(platform: Platform, tmp_path: Path, words: list[str], named: str) -> None:
    places = {"PORT": str(platform.port), "STATE": str(platform.state), "OTHER": str(tmp_path / "other")}
    done = platform.hai(*(places.get(word, word) for word in words), check=False)
    assert done.returncode == 2, done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert named in done.stderr
    assert done.stdout == ""


def test_a_rank_that_hides_and_ignores_signals_is_gone_after_stop(platform: Platform) -> None:
    mark = f"escaping-{platform.port}"
    number = submit(platform, "escaping", "-n", "2", "--grace", "0s", "--", "python", "-c", ESCAPING, mark)
    for rank in ("0", "1"):
        wait_for("the escape", lambda: "escaped" in platform.hai("logs", str(number), "-r", rank).stdout)  # noqa: B023
    platform.hai("stop", str(number))
    wait_for("the end", lambda: task(platform, number).get("state") == "stopped")
    assert not [line for line in processes_with(mark).values() if "hai submit" not in line]


@pytest.mark.parametrize("which", [0, 1], ids=["keeper", "supervisor"])
def test_a_killed_supervisor_costs_a_run_and_never_the_task(platform: Platform, which: int) -> None:
    number = submit(platform, "orphaned", "-n", "2", "--", "sleep", "600")
    wait_for("both ranks", lambda: task(platform, number).get("state") == "running")
    both = sorted(processes_with(str(platform.state / f"runs/{number}/1/1")))
    assert len(both) == 2
    os.kill(both[which], signal.SIGKILL)
    wait_for("the second run", lambda: task(platform, number) == {"state": "running", "runs": 2})
    assert not processes_with(str(platform.state / f"runs/{number}/1/"))
    platform.hai("stop", str(number))


#: Counts to 10, waits for a file, and counts to 30.
COUNTING = """
import os, sys, time
for n in range(30):
    while n >= 10 and not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    print("line", n, flush=True)
"""


def test_following_a_log_outlives_the_service_and_loses_no_line(platform: Platform, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    number = submit(platform, "counting", "--", "python", "-c", COUNTING, str(gate))
    follower = subprocess.Popen(
        [str(BIN / "hai"), "logs", "-f", str(number)], env=platform.env, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    wait_for("the task to print", lambda: "line 9" in platform.hai("logs", str(number)).stdout)
    os.kill(platform.service_pid(), signal.SIGKILL)
    gate.touch()  # the rest is printed while the service is away or starts
    shown, _ = follower.communicate(timeout=PATIENCE)
    assert follower.returncode == 0
    assert [line for line in shown.splitlines() if line.startswith("line")] == [f"line {n}" for n in range(30)]


def test_a_restart_of_the_whole_platform_is_waited_for_and_never_called_wrong_input(
    platform: Platform, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    counting = (
        "import itertools, pathlib, sys, time\nfor n in itertools.count():\n    print('line', n, flush=True)\n"
        "    time.sleep(0.1)\n    if pathlib.Path(sys.argv[1]).exists():\n        break"
    )
    number = submit(platform, "counting", "--", "python", "-c", counting, str(over))
    hai = str(BIN / "hai")
    follower = subprocess.Popen(
        [hai, "logs", "-f", str(number)], env=platform.env, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    wait_for("the task to print", lambda: "line 3" in platform.hai("logs", str(number)).stdout)
    assert platform.process is not None
    platform.process.kill()
    platform.process.wait()
    codes: list[int] = []
    back = threading.Event()

    def ask() -> None:
        while not back.is_set():
            codes.append(platform.hai("list", check=False).returncode)

    asking = threading.Thread(target=ask)
    asking.start()
    # What a restart takes on a busy machine may be longer than the patience of one call.
    words = [hai, "--json", "submit", "--name", "meanwhile", "--", "true"]
    submitted = subprocess.Popen(words, env=platform.env, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        platform.start()
    finally:
        back.set()
        asking.join()
        over.touch()
    assert submitted.wait(60) in (0, 4)
    tasks = platform.json("list", "--name", "meanwhile")["items"]
    assert len(tasks) == (1 if submitted.returncode == 0 else 0)
    shown, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    lines = [line for line in shown.splitlines() if line.startswith("line")]
    assert lines == [f"line {n}" for n in range(len(lines))]
    assert set(codes) <= {0, 4}
    assert 0 in codes
