"""Where the environments of this server's user are, and whether anything has changed there. Nothing is executed."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from hai_lab.environments.actions import FULL_NAME

#: Folders of one owner that are looked at.
MOST: Final = 2000


def owners(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return whose environments the user may make and change, the user's own first: `users/ann`, `groups/cv`, `base`.

    File permissions decide; this only says what is worth offering.
    """
    user = environ.get("HAIENV_USER") or environ.get("JUPYTERHUB_USER") or getpass.getuser()
    groups = [name.strip() for name in environ.get("HAIENV_GROUPS", "").split(",")]
    found = [f"users/{user}", *(f"groups/{name}" for name in groups if name), "base"]
    named = environ.get("HAIENV_ROOT")
    root = Path(named) if named else None
    return [
        owner
        for owner in found
        if FULL_NAME.fullmatch(f"{owner}/x") and (owner == f"users/{user}" or (root and _may_write(root / owner)))
    ]


def _may_write(folder: Path) -> bool:
    """Return whether this process may write a folder, or make it."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK | os.X_OK)


def state(environ: Mapping[str, str] = os.environ) -> tuple[tuple[str, str], ...]:
    """Return the current generation of each environment whose kernel Jupyter lists; it differs after every change."""
    root = environ.get("HAIENV_ROOT", "")
    folders = [Path(one).parent for one in environ.get("JUPYTER_PATH", "").split(os.pathsep) if one]
    return tuple(
        (str(folder / name), current)
        for folder in folders
        if root and folder.is_relative_to(root)
        for name, place in [*((one, folder / one) for one in _names(folder)), *_shared(folder / ".jupyter" / "kernels")]
        if (current := _current(place))
    )


def _shared(kernels: Path) -> list[tuple[str, Path]]:
    """Return the environments of other users whose kernels are offered by links in a folder of one's own."""
    found = []
    for name in _names(kernels):
        with suppress(OSError):
            target = (kernels / name).readlink()
            # ../../../ann/vision/current/kernel/others
            if target.parts[:3] == ("..", "..", "..") and len(target.parts) > 5:
                found.append((name, kernels / Path(*target.parts[:5])))
    return found


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(one.name for one in islice(entries, MOST) if not one.name.startswith("."))
    except OSError:
        return []


def _current(folder: Path) -> str:
    try:
        return str((folder / "current").readlink())
    except OSError:
        return ""
