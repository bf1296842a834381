"""The order of .ci/run, with stand-ins of what it starts: it fails with any of its parts and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOON_S = 120.0
#: Notes what it was asked for; fails where it is told to.
MAKE = """#!/bin/bash
echo "make $1" >>"$CALLS"
case "$FAILS" in "make $1") exit 3 ;; esac
"""
KUBERNETES = """#!/bin/bash
echo kubernetes-up >>"$CALLS"
echo "export KUBECONFIG=none HAI_CI_DOWN=$PWD/down"
[ "$FAILS" != kubernetes-up ]
"""
TESTS = """#!/bin/bash
echo test-kubernetes >>"$CALLS"
echo "Kubernetes tests that were repeated: 0"
[ "$FAILS" != test-kubernetes ]
"""
PYTEST = """#!/bin/bash
echo "pytest $2" >>"$CALLS"
"""
DOWN = '#!/bin/bash\necho "cluster $1" >>"$CALLS"\n'
ORDER = ["make install", "make check", "make e2e", "make test-frameworks", "make test-parts"]
BESIDE = ["make docs", "make chaos"]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the script, and stand-ins of all that it calls."""
    made = tmp_path / "clone"
    (made / "tests" / "frameworks").mkdir(parents=True)
    for name in ("a.lock", "install.py"):
        (made / "tests" / "frameworks" / name).touch()
    (made / ".ci").mkdir()
    for name in ("run", "parts", "again"):
        shutil.copy(ROOT / ".ci" / name, made / ".ci" / name)
    (tmp_path / "bin").mkdir()
    (made / ".venv" / "bin").mkdir(parents=True)
    stand_ins = {".ci/kubernetes": KUBERNETES, ".ci/test-kubernetes": TESTS, ".venv/bin/pytest": PYTEST}
    stand_ins |= {"../bin/make": MAKE, "down": DOWN}
    for name, text in {**stand_ins, "../bin/chromium": "#!/bin/bash\n"}.items():
        (made / name).write_text(text)
        (made / name).chmod(0o755)
    return made


def run(clone: Path, fails: str = "") -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What the script said, and what it has called in which order."""
    calls = clone / "calls"
    env = os.environ | {"PATH": f"{clone.parent / 'bin'}{os.pathsep}{os.environ['PATH']}", "CALLS": str(calls)}
    env |= {"FAILS": fails, "XDG_CACHE_HOME": str(clone / "cache")}
    done = subprocess.run([clone / ".ci" / "run"], env=env, capture_output=True, text=True, timeout=SOON_S, check=False)
    return done, calls.read_text().splitlines()


def test_everything_is_called_in_its_order_and_the_cluster_is_taken_down_after_its_tests(clone: Path) -> None:
    done, calls = run(clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [call for call in calls if call in ORDER] == ORDER
    assert calls.index("kubernetes-up") < calls.index("test-kubernetes")
    assert calls.index("make install") < calls.index("test-kubernetes")
    assert calls.index("test-kubernetes") < calls.index("cluster down") < calls.index("make chaos")
    assert calls.index("make install") < min(map(calls.index, [*BESIDE, "pytest --collect-only"]))
    assert calls.count("cluster down") == 1
    assert "Kubernetes tests that were repeated: 0" in done.stdout


@pytest.mark.parametrize("fails", [*ORDER, *BESIDE, "kubernetes-up", "test-kubernetes"])
def test_any_part_that_fails_fails_it_and_the_cluster_is_taken_down(clone: Path, fails: str) -> None:
    done, calls = run(clone, fails)
    assert done.returncode != 0
    assert "FAILED" in done.stdout
    assert calls.count("cluster down") == ("kubernetes-up" in calls)
