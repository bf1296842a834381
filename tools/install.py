"""Installs what a lock names into a Python environment: `.venv/bin/python tools/install.py LOCK [PYTHON]`.

uv installs: that takes seconds where pip takes minutes. pip brings uv itself, in the version of requirements.lock. uv
follows the settings of pip (index, folders of wheels, certificates, proxy) as it does for haienv. Where uv fails, pip
is tried: it knows settings that uv lacks, such as certificates of clients. Both install only files that have a hash of
the lock.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
# It is not installed yet when this runs for the first time.
sys.path.insert(0, str(ROOT / "haienv"))

from haienv.store.site import Site  # noqa: E402

LOCKED: Final = ("--require-hashes", "--only-binary", ":all:")


def entry(lock: Path, name: str) -> str:
    """Return the lines of a lock for one package: its version and the hashes of its files. Raises SystemExit."""
    found = re.search(rf"^{re.escape(name)}==.*(?:\n    --hash=.*)*\n", lock.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{lock.name} has no entry for {name}: run `make lock`")
    return found[0]


def with_pip(python: str, lock: str | Path) -> None:
    """Install all that a lock names with the pip of an environment. Raises CalledProcessError."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *LOCKED, "-r", str(lock)]
    subprocess.run(command, check=True)


def bring_uv(folder: Path) -> Path:
    """Return uv of the environment that runs this, which pip installs unless it is there. Raises CalledProcessError."""
    program, note, wanted = folder / "bin" / "uv", folder / ".uv.lock", entry(ROOT / "requirements.lock", "uv")
    if not (program.exists() and note.exists() and note.read_text(encoding="utf-8") == wanted):
        note.write_text(wanted, encoding="utf-8")
        with_pip(sys.executable, note)
    return program


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of uv: what pip is told, unless uv itself is told something else."""
    # As for pip, each index may have a file: the hashes say which file it is.
    return Site().variables({"UV_INDEX_STRATEGY": "unsafe-best-match", **environ}, ROOT / ".venv" / "pythons")


def install(lock: str, python: str) -> None:
    """Install all that a lock names, compiled. Raises CalledProcessError: neither uv nor pip could."""
    uv = bring_uv(Path(sys.prefix))
    command = [str(uv), "pip", "install", "--quiet", "--python", python, "--compile-bytecode", *LOCKED, "-r", lock]
    if subprocess.run(command, env=variables(os.environ), check=False).returncode:
        print(f"uv could not install {lock}; its reason is above. Now pip tries.", file=sys.stderr, flush=True)
        with_pip(python, lock)


if __name__ == "__main__":
    try:
        install(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else sys.executable)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
