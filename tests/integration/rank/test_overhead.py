"""Time from the last byte of a checkpoint until the rank is gone: no checkpoint is torn, and no time is lost."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from hai_client.linux.processes import read_table
from hai_client.rank.evidence.complete import QUIET_S
from kit.waiting import wait_for

LONG_S = 300
#: Seconds; enough on a busy machine where the supervisor sees all writes. The slow rule takes at least `QUIET_S`.
SOON_S = QUIET_S - 0.1

THREE = """
import os, sys, time
folder = os.environ["HAI_CHECKPOINT_DIR"]
def save(number):
    for name in ("model", "optimizer", "state"):
        with open(folder + "/" + name + ".tmp", "w") as file:
            file.write(str(number))
        os.replace(folder + "/" + name + ".tmp", folder + "/" + name)
        print("wrote", name, number, flush=True)
        if name != "state":
            time.sleep(0.8)
for number in range(1, EARLIER + 1):
    save(number)
    time.sleep(2.5)
print("up", flush=True)
while not os.path.exists("save"):
    time.sleep(0.01)
save(EARLIER + 1)
open("done", "w").write(str(time.time()))
time.sleep(600)
"""


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("earlier", [0, 2], ids=["the first save", "the third save"])
@pytest.mark.parametrize("when", ["before the save", "in the middle of it"])
def test_three_files_with_computing_between_them_are_never_torn(bench, service, checkpoints, earlier, when) -> None:
    code = THREE.replace("EARLIER", str(earlier))
    bench.python(code, profile="auto", patience_s=LONG_S, env={"HAI_CHECKPOINT_DIR": str(checkpoints)})
    bench.printed("up")
    if when == "before the save":
        service.notify()
        wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "save").touch()
    bench.printed(f"wrote model {earlier + 1}")
    if when != "before the save":
        service.notify()
    status = bench.wait()
    assert [(checkpoints / name).read_text() for name in ("model", "optimizer", "state")] == [str(earlier + 1)] * 3
    assert bench.lines()[-1] == f"wrote state {earlier + 1}"
    assert (status["signal"], status["checkpoint"]["path"]) == (15, str(checkpoints / "state"))


ONE = """
import os, time
folder = os.environ["HAI_CHECKPOINT_DIR"]
def save():
    with open(folder + "/draft", "w") as file:
        file.write("1")
    os.replace(folder + "/draft", folder + "/model.pt")
print("starts", flush=True)
while not os.path.exists("listened"):
    time.sleep(0.01)
save()
time.sleep(2.5)
print("up", flush=True)
while not os.path.exists("save"):
    time.sleep(0.01)
save()
open("done", "w").write(str(time.time()))
time.sleep(600)
"""


def listens(bench) -> bool:
    """Whether the supervisor has begun to watch folders."""
    keeper = bench.supervisors[-1].pid
    table = read_table()
    for pid in [pid for pid, process in table.items() if keeper in (pid, process.parent)]:
        try:
            known = [entry.read_text() for entry in Path(f"/proc/{pid}/fdinfo").iterdir()]
        except OSError:
            continue
        if any("inotify wd" in text for text in known):
            return True
    return False


def begin(bench, service, checkpoints: Path, *command: str, label: str = "") -> float:
    """Start a job that saves when it may, and let it save before and after the notice.

    Returns the time of the second save.
    """
    env = {"HAI_CHECKPOINT_DIR": str(checkpoints)}
    bench.start(*command, profile="auto", patience_s=LONG_S, term_wait_s=60, env=env)
    bench.printed(f"{label}starts")
    wait_for("the command to listen", lambda: listens(bench))
    (bench.folder / "listened").touch()
    bench.printed(f"{label}up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (bench.folder / "save").touch()
    wait_for("the command's note", lambda: (bench.folder / "done").exists() and (bench.folder / "done").read_text())
    return float((bench.folder / "done").read_text())


def test_a_save_like_the_one_before_needs_a_short_silence_only(bench, service, checkpoints) -> None:
    saved = begin(bench, service, checkpoints, sys.executable, "-c", ONE)
    status = bench.wait()
    assert time.time() - saved < SOON_S
    assert (status["exit_code"], status["signal"], status["caught"]) == (143, 15, False)
    assert status["checkpoint"]["path"] == str(checkpoints / "model.pt")


SLOW_AGENT = """
import os, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "worker.py"], env={**os.environ, "LOCAL_RANK": "0"}, STDOUT)
RELAY
worker.wait()
time.sleep(30)
sys.exit(1)
"""


@pytest.mark.parametrize(
    ("launcher", "through_shell"),
    [("torchrun", False), ("torchrun", True), ("deepspeed", False), ("mpirun", False)],
    ids=["torchrun", "torchrun under a shell", "deepspeed", "mpirun"],
)
def test_a_launcher_that_is_slow_to_see_that_its_workers_were_ended_is_killed(
    bench, service, checkpoints, launcher, through_shell
) -> None:
    bench.folder.mkdir()
    (bench.folder / launcher).write_text(SLOW_AGENT.replace(", STDOUT", "").replace("RELAY\n", ""))
    (bench.folder / "worker.py").write_text(ONE)
    command = [sys.executable, launcher]
    if through_shell:
        command = ["bash", "-c", 'trap "echo cleaned" EXIT\n"$0" torchrun\necho after', sys.executable]
    saved = begin(bench, service, checkpoints, *command)
    status = bench.wait()
    # This includes the polls of the bench.
    assert time.time() - saved < QUIET_S + 2
    if through_shell:
        assert bench.lines()[2:] == ["cleaned"]
    else:
        assert (status["exit_code"], status["signal"]) == (143, 15)


def test_a_launcher_hands_on_what_its_workers_have_printed_before_it_is_killed(bench, service, checkpoints) -> None:
    bench.folder.mkdir()
    relay = "for line in worker.stdout:\n    print('0:', line.decode(), end='', flush=True)\n"
    agent = SLOW_AGENT.replace("STDOUT", "stdout=subprocess.PIPE").replace("RELAY\n", relay)
    (bench.folder / "torchrun").write_text(agent)
    (bench.folder / "worker.py").write_text(ONE.replace('open("done"', 'print("last", flush=True)\nopen("done"'))
    begin(bench, service, checkpoints, sys.executable, "torchrun", label="0: ")
    status = bench.wait()
    assert bench.lines() == ["0: starts", "0: up", "0: last"]
    assert (status["exit_code"], status["signal"]) == (143, 15)


RAY = """
import os, signal, subprocess, sys, time
def end(*_):
    print("ends slowly", flush=True)
    time.sleep(30)
    sys.exit(15)
signal.signal(signal.SIGTERM, end)
subprocess.Popen(["./raylet", "600"])
"""


def test_rays_driver_is_left_until_a_checkpoint_is_there_though_it_catches_the_signal(
    bench, service, checkpoints
) -> None:
    bench.folder.mkdir()
    shutil.copy(shutil.which("sleep") or "", bench.folder / "raylet")
    saved = begin(bench, service, checkpoints, sys.executable, "-c", RAY + ONE)
    status = bench.wait()
    assert time.time() - saved < QUIET_S + 2
    assert status["checkpoint"]["path"] == str(checkpoints / "model.pt")
    assert (status["exit_code"], status["caught"]) == (143, False)
    assert bench.processes() == []


#: Ray's own program on a node ends with its driver; a process that it has started stays, and has a handler.
RAY_WITH_AN_AGENT = """
import os, signal, subprocess, sys, time
raylet = subprocess.Popen(["./raylet", "-c", '"$0" agent.py & wait', sys.executable])
def end(*_):
    raylet.kill()
    print("ends slowly", flush=True)
    time.sleep(30)
signal.signal(signal.SIGTERM, end)
"""
AGENT = "import signal, time\nsignal.signal(15, lambda *_: 0)\nwhile True: time.sleep(60)\n"


def test_what_a_ray_leaves_behind_is_not_waited_for(bench, service, checkpoints) -> None:
    bench.folder.mkdir()
    shutil.copy(shutil.which("sh") or "", bench.folder / "raylet")
    (bench.folder / "agent.py").write_text(AGENT)
    saved = begin(bench, service, checkpoints, sys.executable, "-c", RAY_WITH_AN_AGENT + ONE)
    status = bench.wait()
    assert time.time() - saved < QUIET_S + 4
    assert (status["exit_code"], status["caught"]) == (143, False)
    assert bench.processes() == []
