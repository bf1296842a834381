"""Select from requirements.lock what an image needs: HAI's requirements, their own requirements, and all hashes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[2]
#: Folders of HAI's own packages, which are in no lock.
OURS: Final = {
    "hai-client": ROOT / "client",
    "hai-env": ROOT / "haienv",
    "hai-slurm": ROOT / "client/slurm",
    "hai-platform": ROOT,
    "hai-lab": ROOT / "lab_extension",
}
_ENTRY: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==[^\n]*(?:\n    --hash=[^\n]*)*", re.MULTILINE)


class NotLocked(Exception):
    """A package that is needed has no entry in the lock; the text says which, and what to do."""


def entries(lock: str) -> dict[str, str]:
    """Return the entries of a lock, with their hashes, by name of the package."""
    return {canonicalize_name(found[1]): found[0] for found in _ENTRY.finditer(lock)}


def closure(asked: Iterable[str]) -> set[str]:
    """Return the names of all packages that these requirements need on this machine, without HAI's own.

    What a package asks for is read from where it is installed: `make install` has put everything there.
    """
    waiting = [Requirement(text) for text in asked]
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if (name, extras := frozenset(wanted.extras)) in done:
            continue
        done.add((name, extras))
        waiting += [below for below in map(Requirement, _asked_by(name, extras)) if _applies(below, extras)]
    return {name for name, _ in done} - OURS.keys()


def _applies(wanted: Requirement, extras: Iterable[str]) -> bool:
    marker = wanted.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def locked(asked: Iterable[str]) -> str:
    """Return the part of requirements.lock that these requirements need. Raises NotLocked."""
    known, names = entries((ROOT / "requirements.lock").read_text()), closure(asked)
    if missing := sorted(names - known.keys()):
        raise NotLocked(f"requirements.lock has no entry for {', '.join(missing)}: run `make lock`")
    return "".join(f"{known[name]}\n" for name in sorted(names))


def _asked_by(name: str, extras: Iterable[str]) -> Iterable[str]:
    if name not in OURS:
        try:
            return metadata.requires(name) or ()
        except metadata.PackageNotFoundError:
            raise NotLocked(f"{name} is not installed: run `make install`") from None
    project: dict[str, Any] = tomllib.loads((OURS[name] / "pyproject.toml").read_text())["project"]
    optional = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(text for extra in extras for text in optional[extra])]
