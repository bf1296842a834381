"""Starting processes that never outlive `hai up`, and ending what is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_hub.up import processes
from kit.waiting import wait_for

SLEEP = "import signal; signal.pause()"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", SLEEP])
    yield process
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()


def test_a_fingerprint_names_a_process_while_it_runs(sleeper: subprocess.Popen[bytes]) -> None:
    known = processes.identity(sleeper.pid)
    assert processes.pid_of(known) == sleeper.pid
    assert known is not None
    assert processes.pid_of(known + "0") is None
    sleeper.kill()
    sleeper.wait()
    assert processes.pid_of(known) is None
    assert processes.pid_of(None) is None


def test_descendants_are_found_at_any_depth_and_can_be_left_out() -> None:
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEP!r}])"
    with subprocess.Popen([sys.executable, "-c", script]) as child:
        wait_for("the child's child", lambda: len(processes.running_below(child.pid)) == 1)
        (grandchild,) = processes.running_below(child.pid)
        assert {child.pid, grandchild} <= set(processes.running_below(os.getpid()))
        assert not {child.pid, grandchild} & set(processes.running_below(os.getpid(), without=[child.pid]))
        os.kill(grandchild, signal.SIGKILL)


@pytest.mark.parametrize("farewell", [signal.SIGTERM, signal.SIGKILL])
def test_the_hub_ends_when_hai_up_is_killed(tmp_path: Path, farewell: signal.Signals) -> None:
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from hai_hub.up import processes\n"
        f"child = processes.start([sys.executable, '-c', {SLEEP!r}], cwd=Path('/'), environ=os.environ,\n"
        f"    log=Path({str(tmp_path / 'log')!r}), farewell=signal.{farewell.name})\n"
        "print(child.pid, flush=True)\n"
        "signal.pause()\n"
    )
    up = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert up.stdout is not None
    with up.stdout as output:
        hub = int(output.readline())
    known = processes.identity(hub)
    assert processes.pid_of(known) == hub
    up.kill()
    up.wait()
    wait_for("the process to be gone", lambda: processes.pid_of(known) is None)


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    script = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
    stubborn = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert stubborn.stdout is not None
    with stubborn.stdout as output:
        output.readline()
    told = processes.end_all(
        lambda: [stubborn.pid] if stubborn.poll() is None else [], patience_s=0.1, tick=lambda: None
    )
    assert (told, stubborn.returncode) == (1, -signal.SIGKILL)


def test_without_patience_nothing_is_told_to_end_in_its_own_way() -> None:
    """A Hub that hears SIGTERM would stop the users' servers."""
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as process:
        processes.end_all(lambda: [process.pid] if process.poll() is None else [], patience_s=0.0, tick=lambda: None)
        assert process.returncode == -signal.SIGKILL


def test_supervisors_of_this_folder_are_found_whichever_process_started_them(tmp_path: Path) -> None:
    fake = [sys.executable, "-c", SLEEP, "-m", "hai_client.rank"]
    runs = tmp_path / "runs"
    with (
        subprocess.Popen([*fake, str(runs / "1" / "1" / "0")]) as own,
        subprocess.Popen([*fake, str(tmp_path / "other" / "1")]) as other,
    ):
        wait_for("the supervisor to be found", lambda: processes.supervisors(runs) == [own.pid])
        own.kill()
        other.kill()


def test_servers_of_this_folder_are_found_whichever_process_started_them(tmp_path: Path) -> None:
    homes = tmp_path / "home"
    server = {"HOME": str(homes / "ann"), "JUPYTERHUB_SERVICE_PREFIX": "/user/ann/"}
    given = [server, server | {"HOME": "/elsewhere/ann"}, {"HOME": str(homes / "ann")}]
    with contextlib.ExitStack() as open_:
        started = [open_.enter_context(subprocess.Popen([sys.executable, "-c", SLEEP], env=env)) for env in given]
        own = started[0].pid
        mark = f"HOME={homes}/"
        wait_for("the server to be found", lambda: processes.servers(mark) == [own])
        assert processes.servers(mark, without=[own]) == []
        assert processes.servers(mark, without=[os.getpid()]) == [], "with everything below"
        for process in started:
            process.kill()
