"""A stranger's way: wheels, a new environment, an account without a checkout, `hai up`, and a training.

As root, the environment is root's, in a folder with a space in its name, and the account may only read it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from hai_client.linux.identity import closed_folder
from install import variables
from kit.ports import free_port
from kit.waiting import PATIENCE, wait_for

from .conftest import ROOT, build

#: Each worker of pytest-xdist has an account of its own.
NAME = f"hai-test-s{os.environ.get('PYTEST_XDIST_WORKER', '')}"
PYTHON = os.path.realpath(sys.executable)
WHERE = """
import hai_client, hai_hub, hai_lab, hai_scheduler, hai_slurm, hai_spawner, haienv, sys
for package in (hai_client, hai_hub, hai_lab, hai_scheduler, hai_slurm, hai_spawner, haienv):
    print(package.__file__.startswith(sys.prefix + "/"), package.__name__)
"""


@dataclass
class Stranger:
    """An account with a home of its own, and the environment that it uses."""

    user: str
    home: Path
    environment: Path
    #: None: the account that runs the tests.
    account: pwd.struct_passwd | None
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def said(self) -> str:
        """What `hai up` has printed."""
        return (self.home / "up.log").read_text()

    @property
    def state(self) -> Path:
        return self.home / ".local/state/hai"

    def popen(self, *words: str, **more: Any) -> subprocess.Popen[bytes]:
        """Start a program as a new login of the account would."""
        who = {} if self.account is None else {"user": self.account.pw_uid, "group": self.account.pw_gid}
        if self.account is not None:
            who["extra_groups"] = []
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LOGNAME": self.user}
        return subprocess.Popen(words, cwd=self.home, env=env, stdin=subprocess.DEVNULL, **who, **more)

    def run(self, *words: str) -> str:
        """Run a program; returns what it prints. It must not fail."""
        started = self.popen(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            out, _ = started.communicate(timeout=PATIENCE)
        finally:
            started.kill()
        assert started.returncode == 0, out.decode()
        return out.decode()

    def up(self) -> None:
        """Start the platform and wait until it says that it is ready."""
        with (self.home / "up.log").open("wb") as log:
            words = [str(self.environment / "bin/hai"), "up", "--port", str(self.port)]
            self.process = started = self.popen(*words, stdout=log, stderr=log, start_new_session=True)

        def ready() -> bool:
            assert started.poll() is None, self.said
            return "Ctrl-C stops everything" in self.said

        wait_for("hai up", ready)

    def left(self) -> list[str]:
        """The command lines of processes that use the home."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                if (
                    int(entry.name) != os.getpid()
                    and str(self.home).encode() in line + (entry / "environ").read_bytes()
                ):
                    found.append(f"{entry.name} {line.decode()}")
        return found


@pytest.fixture(scope="module")
def account() -> Iterator[pwd.struct_passwd | None]:
    """An account without rights, where one can be made that may start this Python; else None."""
    if os.geteuid() != 0 or shutil.which("useradd") is None or closed_folder(PYTHON):
        yield None
        return
    subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/sh", NAME], check=True)
    yield pwd.getpwnam(NAME)
    subprocess.run(["userdel", NAME], check=True, capture_output=True)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that every account may enter; pytest's own folders are closed."""
    folder = Path(tempfile.mkdtemp(prefix="hai stranger "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def environment(
    place: Path, wheel: Path, client_wheel: Path, env_wheel: Path, slurm_wheel: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:  # fmt: skip
    """What `pip install 'hai-platform[up]'` makes of our wheels and of the locked versions of all others."""
    lab_wheel = build(ROOT / "lab_extension", tmp_path_factory.mktemp("lab-wheel"))
    made = place / "environment"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(made)], check=True)
    asked = [f"hai-platform[up] @ {wheel.as_uri()}", *map(str, (client_wheel, env_wheel, slurm_wheel, lab_wheel))]
    command = [
        str(Path(sys.executable).parent / "uv"),
        "pip",
        "install",
        "--quiet",
        "--python",
        str(made / "bin/python"),
    ]
    command += ["--constraint", str(ROOT / "requirements.lock"), *asked]
    # `make install` has fetched the same files: most of the time, no index need be asked.
    for more in (["--offline"], []):
        done = subprocess.run([*command, *more], env=variables(os.environ), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return made
    pytest.fail(done.stderr)


@pytest.fixture(scope="module")
def stranger(place: Path, environment: Path, account: pwd.struct_passwd | None) -> Iterator[Stranger]:
    home = place / "home"
    home.mkdir(mode=0o700)
    if account is not None:
        os.chown(home, account.pw_uid, account.pw_gid)
    user = pwd.getpwuid(os.geteuid()).pw_name if account is None else NAME
    made = Stranger(user, home, environment, account, free_port())
    try:
        made.up()
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.process.send_signal(signal.SIGINT)
            made.process.wait(PATIENCE)
        for line in made.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(line.partition(" ")[0]), signal.SIGKILL)


def test_nothing_of_ours_comes_from_elsewhere(stranger: Stranger) -> None:
    found = stranger.run(str(stranger.environment / "bin/python"), "-P", "-c", WHERE).splitlines()
    assert [line for line in found if not line.startswith("True ")] == []
    assert len(found) == 7


def test_what_it_keeps_is_where_the_docs_say(stranger: Stranger) -> None:
    assert f"  state     {stranger.state}\n" in stranger.said
    assert {path.name for path in stranger.home.iterdir()} <= {".cache", ".config", ".local", "up.log"}
    assert stranger.state.stat().st_mode & 0o077 == 0
    assert json.loads((stranger.home / ".config/hai/config.json").read_text())["url"] == address(stranger)


def test_the_lines_that_it_prints_run_a_training(stranger: Stranger) -> None:
    lines = stranger.said.partition("in a second terminal:\n\n")[2].partition("\n\n")[0]
    assert "source " in lines
    found = stranger.run("/bin/bash", "-ec", lines.replace("--epochs 200", "--epochs 2"))
    assert "epoch 2/2 loss " in found
    assert "weights sha256 " in found
    assert "succeeded" in found
    listed = json.loads(stranger.run(str(stranger.environment / "bin/hai"), "--json", "list", "-a"))
    assert [(task["name"], task["state"]) for task in listed["items"]] == [("digits", "succeeded")]


def test_the_chart_is_there(stranger: Stranger) -> None:
    assert "imageRegistry:" in stranger.run(str(stranger.environment / "bin/hai"), "cluster", "config")


def test_the_password_opens_jupyterlab_with_the_panel_and_studio(stranger: Stranger) -> None:
    browser = build_opener(HTTPCookieProcessor(CookieJar()))

    def page(path: str, **form: str) -> tuple[str, str]:
        with browser.open(address(stranger) + path, urlencode(form).encode() if form else None) as answer:
            return answer.url, answer.read().decode()

    def found(pattern: str, text: str) -> str:
        match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
        assert match is not None, text
        return match[1]

    xsrf = found('name="_xsrf" value="([^"]+)"', page("/hub/login")[1])
    password = found(r"^  password +(\S+)", stranger.said)
    page("/hub/login?next=/hub/spawn", username=stranger.user, password=password, _xsrf=xsrf)
    lab = f"/user/{stranger.user}/lab"
    _, text = wait_for("JupyterLab", lambda: page(lab), met=lambda seen: f"{lab}" in seen[0], pause=1.0)
    told = json.loads(found('<script id="jupyter-config-data"[^>]*>(.*?)</script>', text))
    (panel,) = [one for one in told["federated_extensions"] if one["name"] == "hai-lab"]
    assert '["hai-lab"]' in page(f"{lab}/extensions/hai-lab/{panel['load']}")[1]
    assert (stranger.state / "home" / stranger.user / "hai-examples/start-here.ipynb").exists()
    script = found('src="(/services/hai/page/[^"]+)"', page("/services/hai/")[1])
    assert len(page(script)[1]) > 100_000


def test_ctrl_c_ends_it_and_leaves_nothing(stranger: Stranger) -> None:
    assert stranger.process is not None
    stranger.process.send_signal(signal.SIGINT)
    assert stranger.process.wait(PATIENCE) == 0, stranger.said
    assert wait_for("the last process to end", stranger.left, met=lambda found: not found) == []


def address(stranger: Stranger) -> str:
    return f"http://127.0.0.1:{stranger.port}"
