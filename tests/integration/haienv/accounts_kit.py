"""Real Unix accounts that share a folder of environments."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from uv import find_uv_bin

from .conftest import PATIENCE, ROOT, make_wheel

#: Each worker of pytest-xdist has accounts of its own: another one may remove its at any time.
ANN, BOB, EVE, TEAM = (f"haienv-test-{each}{os.environ.get('PYTEST_XDIST_WORKER', '')}" for each in "abcg")
#: A Python that every account may start; that of the tests may lie in root's home.
PYTHON = "/usr/bin/python3.11"
#: Everything below a folder that the account which runs this can write, but for its own home.
WRITABLE = """
import os, sys
found = []
for top in sys.argv[1:]:
    for folder, folders, files in os.walk(top):
        found += [p for p in [folder, *(os.path.join(folder, f) for f in files)]
                  if not os.path.islink(p) and os.access(p, os.W_OK)]
print("\\n".join(found))
"""

needs_accounts = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("useradd") is None or not Path(PYTHON).exists(),
    reason=f"this needs root, useradd and {PYTHON}",
)


@contextlib.contextmanager
def three_accounts() -> Iterator[None]:
    """Make three accounts, of which the first two are in a group."""
    subprocess.run(["groupadd", "--force", TEAM], check=True)
    made = []
    for name in (ANN, BOB, EVE):
        try:
            pwd.getpwnam(name)
        except KeyError:
            team = [] if name == EVE else ["--groups", TEAM]
            subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/sh", *team, name], check=True)
            made.append(name)
    yield
    for name in made:
        subprocess.run(["userdel", name], check=True, capture_output=True)
    subprocess.run(["groupdel", TEAM], check=False, capture_output=True)


class Shared:
    """A root of environments on a disk that three accounts share."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "root"
        self.wheels = place / "wheels"
        for version in ("1.0", "2.0"):
            make_wheel(self.wheels, "alpha", version)
        shutil.copytree(
            ROOT / "haienv" / "haienv", place / "code" / "haienv", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copy(find_uv_bin(), place / "uv")
        for name in (ANN, BOB, EVE):
            home = place / f"home-{name}"
            home.mkdir()
            os.chown(home, pwd.getpwnam(name).pw_uid, pwd.getpwnam(name).pw_gid)
        for one in place.rglob("*"):
            one.chmod(0o755)

    def start(self, user: str | None, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program as an account; None: as root. Its umask is as wide as some have it."""
        env = {
            "PATH": "/usr/bin:/bin", "HAIENV_ROOT": str(self.root), "PYTHONPATH": str(self.place / "code"),
            "HOME": str(self.place / f"home-{user}"), "UV_OFFLINE": "1", "UV_FIND_LINKS": str(self.wheels),
            "UV_PYTHON_DOWNLOADS": "never", "HAIENV_UV": str(self.place / "uv"),
        }  # fmt: skip
        who: dict[str, object] = {}
        if user is not None:
            account = pwd.getpwnam(user)
            team = [grp.getgrnam(TEAM).gr_gid] if user != EVE else []
            who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": team}
        return subprocess.run(
            words, env=env, cwd="/", umask=0o002, capture_output=True, text=True, timeout=PATIENCE, check=False,
            **who,  # type: ignore[call-overload]
        )  # fmt: skip

    def call(self, user: str | None, *words: str) -> tuple[int, str, str]:
        """Run `haienv` as an account: status, output, messages."""
        done = self.start(user, PYTHON, "-B", "-m", "haienv", *words)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    def haienv(self, user: str | None, *words: str) -> str:
        status, out, err = self.call(user, *words)
        assert status == 0, err
        return out

    def fails(self, user: str, *words: str) -> str:
        status, _, err = self.call(user, *words)
        assert status != 0
        return err

    def create(self, user: str, name: str, *words: str) -> None:
        self.haienv(user, "create", name, "--no-kernel", "-p", PYTHON, *words)

    def version(self, user: str, name: str) -> str:
        return self.haienv(user, "run", name, "--", "python", "-c", "import alpha; print(alpha.VERSION)").strip()

    def writable(self, user: str, *tops: Path) -> list[str]:
        return self.start(user, PYTHON, "-c", WRITABLE, *map(str, tops)).stdout.split()
