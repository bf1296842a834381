"""How a user's server is started: its command, its environment, its home."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hai_slurm
from hai_client.linux.processes import fingerprint
from hai_spawner.containers.local import HaiLocalSpawner
from hai_spawner.containers.process import before_exec


def spawner(root: Path, name: str = "ann", **more: Any) -> HaiLocalSpawner:
    made = HaiLocalSpawner(
        home_root=str(root / "home"),
        hai_url="http://127.0.0.1:8000",
        hai_api_url="http://127.0.0.1:9/services/hai/api/v1",
        **more,
    )
    made.user = SimpleNamespace(name=name, url=f"/user/{name}/", escaped_name=name)
    made.hub = SimpleNamespace(public_host="", api_url="http://127.0.0.1:1/hub/api", base_url="/hub/")
    made.api_token = "secret"
    return made


def test_the_server_is_started_with_this_python_and_lab_calls_nobody(tmp_path: Path) -> None:
    made = spawner(tmp_path)
    assert made.cmd == [sys.executable, "-P", "-m", "hai_spawner.containers.singleuser"]
    args = made.get_args()
    assert "--LabApp.news_url=None" in args
    assert "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate" in args
    assert "--LabApp.extension_manager=readonly" in args
    assert ("--allow-root" in args) == (os.geteuid() == 0)
    assert made.default_url == "/lab"


def test_the_environment_knows_the_platform_and_nothing_of_the_hubs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAI_HUB_SETTINGS", "/somewhere")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do not hand on")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("PATH", f"/usr/bin:{Path(sys.executable).parent}:/bin")
    env = spawner(tmp_path).get_env()
    assert env["HAI_URL"] == "http://127.0.0.1:8000"
    assert env["HAI_API_URL"] == "http://127.0.0.1:9/services/hai/api/v1"
    slurm = Path(hai_slurm.__file__).parent / "shims"
    assert env["PATH"] == f"{Path(sys.executable).parent}:/usr/bin:/bin:{slurm}", "a real Slurm would come first"
    assert (slurm / "sbatch").is_file()
    assert (env["USER"], env["HOME"], env["LANG"]) == ("ann", str(tmp_path / "home" / "ann"), "C.UTF-8")
    assert not {"HAI_HUB_SETTINGS", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH"} & set(env)


def test_what_an_administrator_sets_wins(tmp_path: Path) -> None:
    made = spawner(tmp_path, environment={"HAI_URL": "https://other"}, args=["--ServerApp.x=1"])
    assert made.get_env()["HAI_URL"] == "https://other"
    assert made.get_args()[-1] == "--ServerApp.x=1"


def test_a_home_is_made_private_and_stays_below_its_root(tmp_path: Path) -> None:
    made = spawner(tmp_path, name="..")
    made.make_preexec_fn("..")
    home = Path(made.home_dir)
    assert home.parent == tmp_path / "home"
    assert home.name == "%2E."
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_without_a_root_for_homes_the_error_names_the_setting() -> None:
    made = HaiLocalSpawner()
    made.user = SimpleNamespace(name="ann")
    with pytest.raises(ValueError, match=r"HaiLocalSpawner\.home_root"):
        _ = made.home_dir


async def test_output_goes_to_a_log_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    made = spawner(tmp_path, log_root=str(tmp_path / "logs"), cmd=["/bin/echo", "hello"], args=[])
    made.ip, made.port = "127.0.0.1", 1
    await made.start()
    assert made.proc is not None
    made.proc.wait()
    log = tmp_path / "logs" / "lab-ann.log"
    assert "hello" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


async def test_progress_says_that_the_server_has_ended_instead_of_starting_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hai_spawner.containers.local._STILL_STARTING_S", 0.0)
    made = spawner(tmp_path, log_root=str(tmp_path), cmd=["/bin/sh", "-c", "exit 3", "--"], args=[])
    made.ip, made.port = "127.0.0.1", 1
    await made.start()
    made.proc.wait()
    async with asyncio.timeout(5):
        said = [event["message"] async for event in made.progress()]
    assert said[-1] == (
        "JupyterLab has ended with status 3 and will not come up: stop the server. "
        "An administrator finds the reason in the log lab-ann.log"
    )
    assert await made.poll() == 3


def test_a_number_that_belongs_to_another_process_by_now_is_not_taken_for_the_server(tmp_path: Path) -> None:
    made = spawner(tmp_path)
    made.pid = os.getpid()
    state = made.get_state()
    again = spawner(tmp_path)
    again.load_state(state)
    assert again.pid == os.getpid()
    stale = spawner(tmp_path)
    stale.load_state({**state, "fingerprint": "earlier"})
    assert stale.pid == 0


def test_a_process_that_is_not_there_has_no_fingerprint() -> None:
    done = subprocess.Popen(["/bin/true"])
    done.wait()
    assert fingerprint(done.pid) is None


async def test_progress_says_something_at_once(tmp_path: Path) -> None:
    async with asyncio.timeout(5):
        first = await anext(spawner(tmp_path).progress())
    assert first["progress"] > 0
    assert "ann" in first["message"]


def test_a_server_outlives_a_hub_that_is_killed_and_heeds_interrupts(tmp_path: Path) -> None:
    """A Hub that ignores SIGINT, as one started in the background does, is killed."""
    script = tmp_path / "hub.py"
    script.write_text(
        "import signal, subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from hai_spawner.containers.process import before_exec\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "code = 'import signal; print(signal.getsignal(2) is signal.default_int_handler, flush=True)'\n"
        "code += '; signal.pause()'\n"
        "server = subprocess.Popen([sys.executable, '-c', code], preexec_fn=before_exec(Path('/')))\n"
        "print(server.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    hub = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert hub.stdout is not None
    with hub.stdout as output:
        said = sorted(output.readline().strip() for _ in range(2))
        assert said[1] == "True"
        server = int(said[0])
        known = fingerprint(server)
        hub.send_signal(signal.SIGKILL)
        hub.wait()
        assert fingerprint(server) == known
        # The server held the other end of the pipe: its end is the end of the file.
        os.kill(server, signal.SIGINT)
        output.read()
    assert callable(before_exec(tmp_path))


def test_a_process_of_an_earlier_hub_is_not_taken_for_a_later_one_of_its_number(tmp_path: Path) -> None:
    made = spawner(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        made.load_state({"pid": process.pid, "fingerprint": fingerprint(process.pid)})
        assert asyncio.run(made.poll()) is None
        made._fingerprint = "an earlier process"
        assert asyncio.run(made.poll()) == 0
        process.kill()


def test_a_server_of_an_earlier_hub_that_is_a_zombie_has_ended(tmp_path: Path) -> None:
    made = spawner(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        made.load_state({"pid": process.pid, "fingerprint": fingerprint(process.pid)})
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert asyncio.run(made.poll()) == 0
