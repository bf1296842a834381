"""Put Debian's Prometheus and promtool into a folder: `python helm/tools/fetch_prometheus.py .venv/bin`. For tests.

apt checks the signature of what it downloads. Nothing is installed: the package is unpacked, without root. Unpacked
programs are kept in a cache of this account, so that they are downloaded once.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PROGRAMS: Final = ("prometheus", "promtool")
#: Seconds for one command of apt or dpkg.
_PATIENCE: Final = 120


class FetchError(Exception):
    """The programs could not be fetched; the text says why."""


def cache() -> Path:
    """Return the folder in which the programs are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "hai-prometheus" / platform.machine()


def download(folder: Path) -> Path:
    """Download the package with apt, as it is configured here. Raises FetchError."""
    if not all(shutil.which(name) for name in ("apt-get", "dpkg")):
        raise FetchError("this is no Debian: put prometheus and promtool on PATH yourself")
    said = _run("apt-get", "download", "prometheus", at=folder)
    if said is not None and os.geteuid() == 0:
        # A container often has no lists of packages.
        _run("apt-get", "update", at=folder)
        said = _run("apt-get", "download", "prometheus", at=folder)
    packages = sorted(folder.glob("prometheus_*.deb"))
    if not packages:
        raise FetchError(f"apt-get download prometheus: {said or 'no package came'}")
    return packages[0]


def unpack(package: Path, folder: Path) -> Path:
    """Unpack the package; returns the folder of its programs. Raises FetchError."""
    said = _run("dpkg", "-x", str(package), str(folder), at=package.parent)
    found = folder / "usr" / "bin"
    if said is not None or not all((found / name).is_file() for name in PROGRAMS):
        raise FetchError(f"{package.name} cannot be unpacked: {said or 'the programs are not in it'}")
    return found


def put(source: Path, folder: Path) -> None:
    """Copy the programs, each atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        unfinished = folder / f".{name}.{os.getpid()}.part"
        shutil.copy2(source / name, unfinished)
        unfinished.replace(folder / name)


def _run(*command: str, at: Path) -> str | None:
    """Run a command in a folder; returns None, or the end of what it says if it fails."""
    try:
        done = subprocess.run(command, cwd=at, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stderr.strip().splitlines() or ["it failed"])[-1][:300] if done.returncode else None


def main(argv: list[str]) -> int:
    """Fetch the programs; returns the exit code, 1 with one line of error."""
    parser = argparse.ArgumentParser(description="Put prometheus and promtool into a folder, unless they are on PATH.")
    parser.add_argument("folder", type=Path)
    words = parser.parse_args(argv)
    if all(shutil.which(name) for name in PROGRAMS):
        return 0
    kept = cache()
    try:
        if not all((kept / name).is_file() for name in PROGRAMS):
            with tempfile.TemporaryDirectory() as folder:
                put(unpack(download(Path(folder)), Path(folder) / "root"), kept)
        put(kept, words.folder)
    except (FetchError, OSError) as error:
        print(f"no Prometheus for tests: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
