"""A platform that was started with an unusual umask: accounts get what is for them, and nothing else."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import hai_client
from e2e.conftest import Platform, processes_with
from hai_client.linux.identity import account_named, closed_folder, lacking_rights
from hai_client.linux.processes import read_environment
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e

#: Each worker of pytest-xdist has an account of its own: another one may remove its at any time.
ANN = f"hai-test-m{os.environ.get('PYTEST_XDIST_WORKER', '')}"
#: What `hai up --unix-users` refuses to start without.
needs_accounts = pytest.mark.skipif(
    os.geteuid() != 0
    or bool(lacking_rights())
    or shutil.which("useradd") is None
    or any(closed_folder(path) is not None for path in (sys.executable, str(Path(hai_client.__file__).parent))),
    reason="this needs root, useradd, and a Python and a checkout that every account may read",
)
#: Prints its umask, a file of its code, and all below a folder that its account may write but does not own.
SCRIPT = """
import os, sys
mask = os.umask(0)
print(f"umask {mask:03o}", open("code.txt").read())
for top, folders, files in os.walk(sys.argv[1]):
    for path in [top, *(os.path.join(top, name) for name in files)]:
        if not os.path.islink(path) and os.lstat(path).st_uid != os.geteuid() and os.access(path, os.W_OK):
            print("may write", path)
print("done", flush=True)
"""


@dataclass
class MaskedPlatform(Platform):
    """One whose state folder is in a folder that is not there yet."""

    @property
    def state(self) -> Path:
        return self.home / "srv" / "state"

    @property
    def apart(self) -> bool:
        """Whether users have accounts of their own."""
        return "--unix-users" in self.options


@pytest.fixture(scope="module")
def account() -> Iterator[None]:
    """The account of the local user; one that exists already stays."""
    there = account_named(ANN) is not None
    if not there:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", ANN], check=True)
    yield
    if not there:
        subprocess.run(["userdel", "--remove", ANN], check=True, capture_output=True)


@pytest.fixture(
    params=[
        pytest.param((0o077, True), marks=needs_accounts, id="077-accounts"),
        pytest.param((0o000, True), marks=needs_accounts, id="000-accounts"),
        pytest.param((0o000, False), id="000-one-account"),
    ]
)
def masked(request: pytest.FixtureRequest) -> Iterator[MaskedPlatform]:
    umask, apart = request.param
    if apart:
        request.getfixturevalue("account")
    # pytest's own folders are closed to other accounts.
    home = Path(tempfile.mkdtemp(prefix="hai-umask-"))
    home.chmod(0o755)
    options = ("--user", ANN, "--unix-users") if apart else ()
    platform = MaskedPlatform(home, nodes=1, options=options, umask=umask)
    try:
        platform.start()
        yield platform
    finally:
        platform.end()
        shutil.rmtree(home)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def umask_of(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("Umask:")[2].split()[0], 8)


def open_to_all(top: Path) -> list[str]:
    """What other accounts can reach below a folder, and write."""
    found = []
    for path in top.iterdir():
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            continue
        if mode & stat.S_IWOTH:
            found.append(str(path))
        if stat.S_ISDIR(mode) and mode & stat.S_IXOTH:
            found += open_to_all(path)
    return found


def start_server(platform: MaskedPlatform, user: str) -> int:
    """Start JupyterLab; returns its pid."""
    sent = {"note": "test", "auth": {"username": user, "password": "a long enough word"}}
    token = platform.ask_hub("POST", f"/users/{user}/tokens", sent)["token"]
    platform.ask_hub("POST", f"/users/{user}/server", {}, token=token)
    wait_for("the server", lambda: platform.ask_hub("GET", f"/users/{user}", token=token)["servers"][""]["ready"])
    mark, prefix = f":{platform.port}/".encode(), f"/user/{user}/".encode()
    environs = {pid: read_environment(pid) for pid in processes_with("hai_spawner.containers.singleuser")}
    found = [
        pid
        for pid, environ in environs.items()
        if mark in environ.get(b"HAI_URL", b"") + b"/" and environ.get(b"JUPYTERHUB_SERVICE_PREFIX") == prefix
    ]
    assert len(found) == 1, found
    return found[0]


def test_accounts_get_what_is_for_them_and_secrets_stay_closed(masked: MaskedPlatform) -> None:
    user = ANN if masked.apart else "ann"
    code = masked.home / "code"
    code.mkdir()
    code.chmod(0o755)
    (code / "code.txt").write_text("pinned code")
    (code / "look.py").write_text(SCRIPT)
    words = ("--json", "submit", "--name", "look", "--snapshot", "--no-venv", "--", "python3", "look.py")
    task = str(json.loads(masked.hai(*words, str(masked.home), cwd=code).stdout)["id"])
    lines = masked.hai("logs", "-f", task).stdout
    server = start_server(masked, user)

    users = 0o077 if masked.apart else masked.umask
    assert umask_of(server) == users
    assert f"umask {users:03o} pinned code" in lines
    assert "done" in lines
    assert not masked.apart or "may write" not in lines
    if masked.apart:
        platform = [one for one in processes_with(str(masked.state)) if Path(f"/proc/{one}").stat().st_uid == 0]
        assert {umask_of(one) for one in platform} == {0o022}
        own = masked.state.with_name("state-haienv") / "users" / user
        assert (rights(own), own.stat().st_uid) == (0o755, pwd.getpwnam(user).pw_uid)

    assert open_to_all(masked.home) == []
    assert [rights(path) for path in (masked.state.parent, masked.state)] == [0o755, 0o700]
    secrets = [
        *(masked.state / "secrets").iterdir(),
        *masked.state.rglob("*.sqlite*"),
        *masked.state.rglob("token"),
        *(masked.state / "logs").iterdir(),
        masked.state / "service_secret",
        masked.state / "state.json",
        masked.state / "hub" / "settings.json",
        masked.home / "config" / "hai" / "config.json",
    ]
    assert {str(path): oct(rights(path)) for path in secrets if rights(path) != 0o600} == {}
    assert {path.name for path in secrets} >= {"cookie_secret", "hai.sqlite", "jupyterhub.sqlite", "hub.log"}
