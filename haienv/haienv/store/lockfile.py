"""Lock files: the exact packages of a generation, with hashes, as pip and uv write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
_CUDA = re.compile(r"\+cu(\d{2,3})$")
_RUNTIME = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?$")


def packages(text: str) -> dict[str, str]:
    """Return the versions of a lock file by package, names in their normal form."""
    found = (_PIN.match(line) for line in text.splitlines())
    return {re.sub(r"[-_.]+", "-", match[1]).lower(): match[2] for match in found if match}


def read(path: Path) -> dict[str, str]:
    """Return the versions of a lock file by package. Raises OSError."""
    return packages(path.read_text(encoding="utf-8"))


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
