"""What the compiled files of an environment need of a machine: read from metadata and files, nothing is executed."""

from __future__ import annotations

import json
import mmap
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from haienv.store import lockfile

_NEEDS = re.compile(rb"GLIBC_(\d+)\.(\d+)\b")
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_")
#: The older names of platforms.
_OLDER = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_TAG = re.compile(r"(?m)^Tag:\s*(\S+)\s*$")
#: torch/version.py has a line such as `cuda: Optional[str] = '12.6'`.
_TORCH = re.compile(r"(?m)^cuda\b[^=\n]*=\s*(?:(['\"])([0-9.]+)\1|None)")
_ELF = b"\x7fELF"

Version = tuple[int, int]


def of_python(program: str) -> list[Version]:
    """Return the versions of glibc that a program of Python needs, and its shared library."""
    return [*_of_files([Path(program), *_library_of(Path(program))])]


def glibc(prefix: Path, python: Iterable[Version]) -> str:
    """Return the oldest version of glibc that an environment runs with, such as 2.28; empty: it needs none.

    Wheels say it by their tags. Of those that were compiled here, of conda's packages, and of Python itself, the files
    do: they name the versions of the symbols that they need.

    Args:
        prefix: The environment.
        python: What its Python needs (`of_python`).
    """
    found = [*python]
    for folder in site_packages(prefix):
        compiled_here = []
        for info in folder.glob("*.dist-info"):
            tagged = of_tags(_text(info / "WHEEL"))
            if tagged is None:
                compiled_here.append(info)
            else:
                found += tagged
        for info in compiled_here:
            found += _of_files(_recorded(folder, info))
    if (prefix / "conda-meta").is_dir():
        found += _of_files(prefix.glob("lib/**/*.so*"))
    return ".".join(map(str, max(found))) if found else ""


def cuda(prefix: Path, pins: dict[str, str]) -> str | None:
    """Return the version of CUDA that torch, or else another package, was made for, such as 12.6; None: none.

    Args:
        prefix: The environment.
        pins: The versions of its packages.
    """
    for folder in site_packages(prefix):
        found = _TORCH.search(_text(folder / "torch" / "version.py"))
        if found:
            return found[2]
    return lockfile.cuda_of(pins)


def site_packages(prefix: Path) -> list[Path]:
    """Return the folders of packages of an environment."""
    return sorted(prefix.glob("lib/python3*/site-packages"))


def of_tags(wheel: str) -> list[Version] | None:
    """Return the versions of glibc that the tags of a wheel name; None: it was compiled for one machine.

    Args:
        wheel: The text of its file WHEEL.
    """
    found: list[Version] = []
    local = False
    for tag in _TAG.findall(wheel):
        platform = tag.rpartition("-")[2]
        match = _MANYLINUX.match(platform)
        older = [version for name, version in _OLDER.items() if platform.startswith(f"{name}_")]
        if match:
            found.append((int(match[1]), int(match[2])))
        elif older:
            found += older
        elif platform.startswith("linux_"):
            local = True
    # Several tags are several promises, of which the weakest demand counts.
    return None if local and not found else [min(found)] if found else []


def _recorded(folder: Path, info: Path) -> Iterator[Path]:
    for line in _text(info / "RECORD").splitlines():
        path = line.split(",", 1)[0].strip('"')
        if re.search(r"\.so(\.|$)", path):
            yield folder / path


def _library_of(program: Path) -> list[Path]:
    """Return the shared library of a Python, where there is one."""
    return sorted(program.parent.parent.glob("lib/libpython3*.so*"))


def _of_files(paths: Iterator[Path] | list[Path]) -> Iterator[Version]:
    for path in paths:
        # A link may lead to a file that is not there.
        with suppress(OSError):
            yield from needs(path)


def needs(path: Path) -> set[Version]:
    """Return the versions of glibc whose symbols a program or library names. Raises OSError."""
    with open(path, "rb") as file:
        if file.read(4) != _ELF or os.fstat(file.fileno()).st_size < 64:
            return set()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return {(int(one[1]), int(one[2])) for one in _NEEDS.finditer(data)}


def conda_packages(prefix: Path) -> list[dict[str, object]]:
    """Return what conda has noted of each package of a prefix, in order of names. Raises OSError, ValueError."""
    return [json.loads(one.read_text(encoding="utf-8")) for one in sorted(prefix.glob("conda-meta/*.json"))]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
