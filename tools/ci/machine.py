"""What this machine has for the tests, and how a run makes use of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ci import last_release

ROOT = Path(__file__).parents[2]
#: What brings a Kubernetes up where nothing else is named, in a folder beside the clone.
NEIGHBOUR = ROOT.parent / "shared" / "kubernetes" / "cluster"
#: Free memory from which on tests write into a file system in memory, in GiB.
PLENTY = 16


def cache() -> Path:
    """The folder of what is kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def cluster() -> Path | None:
    """The program that brings a Kubernetes up for the tests, if there is one; `ci.kubernetes` has its verbs.

    HAI_CLUSTER names it. Without that, and without a KUBECONFIG, it is the neighbour's, which wants root.
    """
    named = os.environ.get("HAI_CLUSTER")
    if not named and (os.environ.get("KUBECONFIG") or os.getuid() != 0):
        return None
    program = Path(named) if named else NEIGHBOUR
    return program.resolve() if os.access(program, os.X_OK) else None


@dataclass(frozen=True)
class Thing:
    """Something that a machine has or lacks."""

    there: Callable[[], object]  #: Whether it is there, asked when it is needed.
    lacks: str  #: What is said where it is not, with the remedy.


def _postgresql() -> bool:
    programs = shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return bool(os.environ.get("HAI_TEST_POSTGRES") or programs)


THINGS = {
    "root": Thing(lambda: os.getuid() == 0, "not root"),
    "debian": Thing(lambda: shutil.which("apt-get"), "no Debian: apt-get is missing"),
    "clone": Thing(lambda: (ROOT / ".git").exists(), "no clone of git"),
    "last release": Thing(last_release.is_here, last_release.LACKS),
    "cluster": Thing(cluster, "no program that brings a Kubernetes up: name one by HAI_CLUSTER"),
    "kubernetes": Thing(
        lambda: os.environ.get("KUBECONFIG") or cluster(),
        "no Kubernetes: name one by KUBECONFIG, or a program that brings one up by HAI_CLUSTER",
    ),
    "postgresql": Thing(
        _postgresql, "no PostgreSQL: install its server, or name an empty database by HAI_TEST_POSTGRES"
    ),
    "chromium": Thing(
        lambda: shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"),
        "no Chromium: install it",
    ),
    "registry": Thing(
        lambda: all(map(shutil.which, ("docker-registry", "skopeo", "ssh-keygen"))),
        "no docker-registry, skopeo or ssh-keygen: install docker-registry, skopeo and openssh-client",
    ),
    "squashfs": Thing(lambda: shutil.which("mksquashfs"), "no mksquashfs: install squashfs-tools"),
}


def lacks(thing: str) -> str | None:
    """What the machine lacks of a thing, with the remedy; None if it is there."""
    return None if THINGS[thing].there() else THINGS[thing].lacks


def set_up() -> None:
    """Set what all parts find in their environment.

    Debian compiles its Python with profiles, pyenv does not: what Python does takes a fifth less time.
    """
    if not os.environ.get("PYTHON") and _runs("/usr/bin/python3.11", "-c", "import ensurepip, venv"):
        os.environ["PYTHON"] = "/usr/bin/python3.11"
    # Thousands of processes import the same files: they keep what they have compiled, whatever this machine says.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # mypy looks again only at modules whose text, or what they import, is another than at its last run.
    os.environ["MYPY_CACHE_DIR"] = str(cache() / "hai-mypy")
    cache().mkdir(parents=True, exist_ok=True)


@contextmanager
def in_memory() -> Iterator[None]:
    """Let tests write into memory, where root has plenty of it: what lives for seconds need not wait for a disk.

    The folder is not below /dev, whose files are no files of a training.
    """
    if os.environ.get("TMPDIR") or os.getuid() != 0 or _free_gib() < PLENTY:
        yield
        return
    folder = tempfile.mkdtemp(prefix="hai-", dir="/tmp")
    if _runs("mount", "-t", "tmpfs", "-o", "size=12g,mode=1777", "hai", folder, quiet=False):
        os.environ["TMPDIR"] = folder
    try:
        yield
    finally:
        _runs("umount", "-l", folder)
        with suppress(OSError):
            Path(folder).rmdir()


def _free_gib() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024 // 1024
    return 0


def _runs(*words: str, quiet: bool = True) -> bool:
    errors = subprocess.DEVNULL if quiet else sys.stderr
    try:
        return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=errors, check=False).returncode == 0
    except OSError:
        return False
