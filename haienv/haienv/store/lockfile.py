"""Lock files: the exact packages of a generation, with hashes, as pip and uv write them.

Packages of conda are comments in it, which pip and uv skip: `# conda: NAME VERSION BUILD URL sha256:...`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

from haienv.shared.errors import Wrong

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
#: How the line of a package of conda begins, and what stands before its name where packages are listed.
CONDA, CONDA_NAME = "# conda: ", "conda:"
_CUDA = re.compile(r"\+cu(\d{2,3})$")
_RUNTIME = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?$")


def packages(text: str) -> dict[str, str]:
    """Return the versions of a lock file by package, names in their normal form; those of conda begin with `conda:`."""
    found = {}
    for line in text.splitlines():
        match = _PIN.match(line)
        if match:
            found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
        elif line.startswith(CONDA):
            name, version = line[len(CONDA) :].split()[:2]
            found[f"{CONDA_NAME}{name}"] = version
    return found


def requirements(pins: Mapping[str, str]) -> list[str]:
    """Return pins as requirements of pip; packages of conda are left out."""
    return [f"{name}=={version}" for name, version in pins.items() if not name.startswith(CONDA_NAME)]


def conda(pins: Mapping[str, str]) -> list[str]:
    """Return the pins of packages of conda, as match specifications."""
    return [f"{name[len(CONDA_NAME) :]}={version}" for name, version in pins.items() if name.startswith(CONDA_NAME)]


def read(path: Path) -> dict[str, str]:
    """Return the versions of a lock file by package. Raises OSError."""
    return packages(path.read_text(encoding="utf-8"))


def blocks(text: str) -> dict[str, str]:
    """Return the lines of a lock file by package: its version, with the hashes that follow."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        pinned = packages(line)
        if pinned:
            [name] = pinned
            found[name] = line
        elif name and line.lstrip().startswith("--hash="):
            found[name] += line
        else:
            name = ""
    return found


def refuse_conda(path: Path, verb: str) -> None:
    """Raise Wrong if a lock file has packages of conda: these have the path of their environment in their files.

    Args:
        path: The lock file.
        verb: The verb that would use the files at another place.
    """
    if conda(read(path)):
        raise Wrong(
            f"{verb}: the environment has packages of conda, whose files work at their own place alone;"
            " `haienv clone` or `haienv create -r environment.yml` makes another one"
        )


def cuda_of(pins: dict[str, str]) -> str | None:
    """Return the version of CUDA that packages are for, such as 12.6; None: they need none."""
    tagged = _CUDA.search(pins.get("torch", ""))
    if tagged:
        return f"{tagged[1][:-1]}.{tagged[1][-1]}"
    for name, version in sorted(pins.items()):
        if _RUNTIME.match(name):
            return ".".join(version.split(".")[:2])
    return None


@dataclass(frozen=True)
class Change:
    """A package that differs between two generations; None: one of them lacks it."""

    package: str
    before: str | None
    after: str | None


def diff(before: dict[str, str], after: dict[str, str]) -> list[Change]:
    """Return the packages that differ, in order of names."""
    return [
        Change(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
